"""Takes the pictures of the server's page that the READMEs show, in a Chromium."""

import argparse
import shutil
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "transformer" / "serving"
TEXT = "#es-en/Vivo%20en%20una%20casa%20grande.%20Mi%20hermana%20compr%C3%B3%20tres%20libros."
WORD = "large"  # whose other words are shown, and the step that wrote it
SIZE = {"width": 1280, "height": 640}
COLOURS = 128


def take_pictures(url: str, folder: Path) -> None:
    """Write page.png and inside.png, of a server of the released models, into a folder."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        chromium = shutil.which("chromium")
        opened = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = opened.new_page(viewport=SIZE, locale="en-GB")  # type: ignore[arg-type]
        page.goto(url + TEXT)
        page.locator("#target .word", has_text=WORD).first.click()
        page.locator("#options .change b").first.wait_for()
        page.locator("#menu-said:empty").wait_for(state="attached")  # every word is looked up
        page.mouse.move(0, 0)
        page.screenshot(path=folder / "page.png")
        page.click("#menu-look")
        page.locator("#map svg").wait_for()
        page.mouse.move(0, 0)
        page.screenshot(path=folder / "inside.png", full_page=True)
    for name in ("page.png", "inside.png"):
        Image.open(folder / name).convert("RGB").quantize(COLOURS).save(folder / name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:5000/", help="address of the server")
    take_pictures(parser.parse_args().url, FOLDER)
