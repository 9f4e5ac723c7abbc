"""The application: routes, errors, the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from classic._version import __version__
from classic.serving import routes_find, routes_inspect, routes_predict, routes_teach
from classic.serving.answers import HealthAnswer
from classic.serving.guard import Guard
from classic.serving.problems import install_handlers
from classic.serving.routes import answers
from classic.serving.service import Service

STATIC = Path(__file__).parent / "static"


def create_app(service: Service) -> FastAPI:
    """The ASGI application over a service; its start and end are the service's."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="CLASSIC",
        version=__version__,
        summary="Aspect sentiment, domain after domain.",
        lifespan=lifespan,
        redirect_slashes=False,  # a redirect would answer before the token is asked for, and tell what there is
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.service = service
    app.include_router(routes_predict.router)
    app.include_router(routes_find.router)
    app.include_router(routes_teach.router)
    app.include_router(routes_inspect.router)

    @app.get("/healthz", response_model=HealthAnswer, responses=answers(), tags=["operate"])
    async def healthz() -> dict[str, bool]:
        """Whether the loop turns."""
        return {"live": True}

    @app.get("/metrics", response_class=Response, responses=answers(401), tags=["operate"])
    async def metrics() -> Response:
        """Prometheus' text format."""
        return Response(service.telemetry.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @cache
    def description() -> bytes:
        """Written once: 50 kB anew for every stranger who asks would be a tenth of a core."""
        return bytes(JSONResponse(app.openapi()).body)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return Response(description(), media_type="application/json")

    page = StaticFiles(directory=STATIC)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    @app.api_route("/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def file_of_the_page(request: Request, name: str = "index.html") -> Response:
        # Not mounted: a mount answers for every path, and would tell wrong methods of routes that are not its own.
        return await page.get_response(name, request.scope)

    install_handlers(app)
    app.add_middleware(
        Guard, access=service.config.access, telemetry=service.telemetry, admit=service.live.batcher.admit
    )
    return app
