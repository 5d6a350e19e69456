"""The only reader of the process environment. `.env.example` lists the same names."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parent.parent


class Environment(BaseSettings):
    """What differs between one installation and another. A wrong value stops the start."""

    model_config = SettingsConfigDict(env_file=ROOT / ".env", extra="ignore", frozen=True)

    env: Literal["production", "development", "demo", "test"] = Field(
        "development", description="Kind of installation; only demo and test may move the clock."
    )
    django_debug: bool = Field(False, description="Django's debug pages; never in production.")
    secret_key: SecretStr = Field(
        SecretStr(""), description="Signs sessions; at least 50 characters in production."
    )
    allowed_hosts: str = Field("localhost,127.0.0.1", description="Host names served, comma-separated.")
    csrf_trusted_origins: str = Field(
        "", description="Origins of the console behind a proxy, comma-separated."
    )
    database_url: str = Field(
        "", description="Application role, neither superuser nor BYPASSRLS. Empty: the development server."
    )
    migrate_database_url: str = Field("", description="Owner role; only `migrate --database owner` uses it.")
    redis_url: str = Field("", description="Broker (Redis or Valkey). Empty: the development server.")
    crm_base_url: str = Field("", description="Base address of the CRM's services.")
    crm_service_token: SecretStr = Field(SecretStr(""), description="Bearer token for the CRM's services.")
    crm_timeout: float = Field(
        10.0, gt=0, le=20, description="Seconds for one call to the CRM, connect to last byte."
    )
    console_language: Literal["es", "en"] = Field(
        "es", description="Language of console and API texts by default."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="Lowest level logged."
    )
    log_format: Literal["json", "text"] = Field("json", description="json for collectors, text for people.")
    services_dir: str = Field(
        "", description="Where development servers keep data and sockets. Empty: var/ beside manage.py."
    )


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The environment, read once per process."""
    return Environment()
