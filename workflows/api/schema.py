"""The OpenAPI document, its browsable page, and the answer for paths that lead nowhere."""

from __future__ import annotations

from typing import Any, NoReturn

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.renderers import TemplateHTMLRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from workflows.errors import NotFound


class SchemaView(SpectacularAPIView):
    """OpenAPI 3.1, public."""


class DocsView(SpectacularSwaggerView):
    """Swagger UI from this installation's own files, public."""

    renderer_classes = [TemplateHTMLRenderer]
    url_name = "schema"


class NowhereView(APIView):
    """A path of the interface that does not exist, or an id that is none: 404 like any other."""

    authentication_classes = []
    permission_classes = []
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse before the method is looked at."""
        raise NotFound
