"""sureness serve: ask a saved recommender over HTTP, and look at it in a browser."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sureness._wording import counted
from sureness.cli._console import compiling_announced, say
from sureness.errors import EmptyError, FileError, OutputError, SettingError, missing_extra


def serve_recommender(
    recommender: Annotated[Path, typer.Argument(help="A saved recommender (.sureness).")],
    *,
    calibrator: Annotated[
        Path | None, typer.Option(help="A fitted map for /v1/probabilities; else that of the recommender.")
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(help="Table with item_id and any of title, domain and picture (a file next to the table)."),
    ] = None,
    backtest: Annotated[
        Path | None, typer.Option(help="JSON of a backtest or of an evaluation, to see in the explorer.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all, then give a key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen at; 0: any that is free.")] = 8_000,
    key_file: Annotated[Path | None, typer.Option(help="File with one key per line; requests must send one.")] = None,
    max_body: Annotated[int, typer.Option(min=1, help="Most bytes of a request.")] = 8 << 20,
    max_waiting: Annotated[int, typer.Option(min=1, help="Most requests that wait; others get 429.")] = 1_000,
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Most seconds for a body or an answer.")] = 10.0,
    reload_seconds: Annotated[
        float, typer.Option(min=0, help="How often to look whether the files have changed; 0: only on /v1/reload.")
    ] = 5.0,
) -> None:
    """Answer probabilities, lists and pages over HTTP, and show an explorer in the browser.

    Changed files are put in force without a pause; one that cannot be used leaves the old one in force.
    """
    for library in ("starlette", "uvicorn", "msgspec", "prometheus_client"):
        if find_spec(library) is None:
            raise missing_extra("the service", library, "serve")
    import uvicorn

    from sureness.service.app import build
    from sureness.service.artefacts import ServedFiles
    from sureness.service.serving import ServiceSettings

    keys = () if key_file is None else _keys(key_file)
    listening = _listening(host, port)
    files = ServedFiles(recommender=recommender, calibrator=calibrator, items=items, backtest=backtest)
    settings = ServiceSettings(
        files=files, keys=keys, max_body=max_body, max_waiting=max_waiting, max_seconds=max_seconds,
        reload_seconds=reload_seconds,
    )  # fmt: skip
    with compiling_announced(True):
        app = build(settings)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=30, lifespan="on"
    )
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    listening.listen(2_048)
    about = app.state.service.engine.about()
    say(f"serving {recommender}: {counted(about['n_users'], 'user')}, {counted(about['n_items'], 'item')}")
    say(f"  explorer   {address}/", f"  API        {address}/openapi.json", f"  metrics    {address}/metrics")
    uvicorn.Server(config).run(sockets=[listening])


def _keys(path: Path) -> tuple[str, ...]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read the keys in {path}: {getattr(error, 'strerror', error)}") from error
    keys = tuple(line.strip() for line in lines if line.strip())
    if not keys:
        raise EmptyError(f"{path} has no key; write one on each line")
    return keys


def _listening(host: str, port: int) -> socket.socket:
    """A socket that holds the port from the start, so that another program on it is found before the work begins."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise SettingError(f"host must be an address of this machine, got {host!r}: {error.strerror}") from error
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(address)
    except OSError as error:
        found.close()
        raise OutputError(
            f"cannot listen at {host} port {port}: {error.strerror}; give another port, or 0 for any that is free"
        ) from error
    return found
