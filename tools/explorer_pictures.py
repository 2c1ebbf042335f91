"""Take the pictures of the explorer in the docs: python -m tools.explorer_pictures DEMO_FOLDER, after make demo."""

from __future__ import annotations

import io
import os
import shutil
import sys
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.service.running import Server

PICTURES = Path(__file__).parents[1] / "docs" / "figures"
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
DESKTOP, TALL, PHONE = (1_160, 760), (1_160, 940), (390, 780)
WANTED = {
    "users": ("users", DESKTOP, "light"), "user": ("user/1024", TALL, "light"),
    "promise": ("promise", DESKTOP, "light"), "budget": ("budget", DESKTOP, "light"),
    "page": ("page", TALL, "light"),
    "playground": ("playground", DESKTOP, "dark"), "in-force": ("model", DESKTOP, "light"),
    "user-phone": ("user/1024", PHONE, "light"), "promise-phone": ("promise", PHONE, "dark"),
}  # fmt: skip


def main(folder: Path) -> None:
    os.chdir(folder.parent)  # the page shows the names of files
    folder = Path(folder.name)
    words = (folder / "recommender.sureness", "--items", folder / "items.parquet")
    with Server((*words, "--backtest", folder / "promise.json")) as server, sync_playwright() as started:
        while (known := server.get("/v1/users").json)["n_known"] < known["n_users"]:
            time.sleep(0.2)
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        for name, (view, size, scheme) in WANTED.items():
            (PICTURES / f"explorer-{name}.png").write_bytes(_taken(browser, f"{server.address}/#/{view}", size, scheme))


def _taken(browser: Browser, address: str, size: tuple[int, int], scheme: str) -> bytes:
    """A picture of one view, with few colours so that it is small."""
    width, height = size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1.5
    )  # fmt: skip
    page.goto(address)
    page.wait_for_selector("main[data-view]")
    page.wait_for_timeout(700)
    taken = page.screenshot()
    page.close()
    found = io.BytesIO()
    few = Image.open(io.BytesIO(taken)).convert("RGB").quantize(256, kmeans=5, dither=Image.Dither.NONE)
    few.save(found, "PNG", optimize=True)
    return found.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output"))
