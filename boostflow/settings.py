"""One settings file; what differs between installations comes from `boostflow.env`."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from boostflow import local
from boostflow.databases import databases
from boostflow.env import ROOT, environment
from boostflow.logging import configure_logging
from workflows.admin.navigation import UNFOLD as UNFOLD  # django-unfold reads it here

env = environment()
ENV = env.env
DEBUG = env.django_debug
SECRET_KEY = env.secret_key.get_secret_value()
if not SECRET_KEY:
    if ENV == "production":
        raise ImproperlyConfigured("SECRET_KEY is empty: set at least 50 random characters")
    SECRET_KEY = "development-only-key-development-only-key-development"  # noqa: S105
ALLOWED_HOSTS = [host.strip() for host in env.allowed_hosts.split(",") if host.strip()]
CSRF_TRUSTED_ORIGINS = [origin.strip() for origin in env.csrf_trusted_origins.split(",") if origin.strip()]
if ENV == "production":
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "workflows.admin.apps.ConsoleConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
    "workflows.apps.WorkflowsConfig",
    "actions.apps.ActionsConfig",
    "triggers.apps.TriggersConfig",
    "boostflow.apps.BoostflowConfig",
]
MIDDLEWARE = [
    "boostflow.logging.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "boostflow.urls"
WSGI_APPLICATION = "boostflow.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = databases(env)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env.redis_url or local.redis_url()

LANGUAGE_CODE = env.console_language
LANGUAGES = [("es", _("Spanish")), ("en", _("English"))]
LOCALE_PATHS = [ROOT / "locale"]
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATIC_ROOT = ROOT / "staticfiles"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["workflows.api.auth.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["workflows.api.auth.RolePermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["workflows.api.parsers.BoundedJSONParser"],
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "workflows.api.describe.EntitySchema",
    "EXCEPTION_HANDLER": "workflows.api.errors.handle",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "boostflow",
    "DESCRIPTION": "The workflow engine of BoostCRM: automations and pipelines on one durable core.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "POSTPROCESSING_HOOKS": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

SERVICES_FACTORY = "boostflow.gateways.crm.open_services"
"""Dotted path of the `ServicesFactory`; a Django CRM may name one that calls its services in process."""


LOGGING_CONFIG = None
configure_logging(level=env.log_level, style=env.log_format)
