"""The site as it is built: every link leads to a page and a place on it, and nothing is fetched from elsewhere."""
import html.parser
import pathlib
import posixpath
import re
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets, self.places, self.fetched = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if values.get("id"):
            self.places.add(values["id"])
        if tag == "a" and values.get("name"):
            self.places.add(values["name"])
        if tag == "a" and values.get("href"):
            self.targets.append(values["href"])
        for name in ("src", "href"):
            if tag in ("img", "script", "link", "iframe", "source") and values.get(name) and values.get("rel") not in ("prev", "next", "canonical"):
                self.fetched.append(values[name])


def pages(site):
    return {path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8")) for path in sorted(pathlib.Path(site).rglob("*.html"))}


def broken(site):
    """(number of links, what is wrong with those that lead nowhere)."""
    every, found, count = pages(site), [], 0
    for name, page in every.items():
        if name == "404.html":  # made for a server, with paths from its root
            continue
        for target in page.targets + page.fetched:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme in ("http", "https") and target in page.fetched:
                found.append(f"{name} fetches {target}")
            if parts.scheme:
                continue
            count += 1
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), urllib.parse.unquote(parts.path))) if parts.path else name
            if (pathlib.Path(site) / path).is_dir():
                path += "/index.html"
            if not (pathlib.Path(site) / path).is_file():
                found.append(f"{name}: {target} leads to no file")
            elif parts.fragment and path in every and urllib.parse.unquote(parts.fragment) not in every[path].places:
                found.append(f"{name}: {target} leads to no place on {path}")
    return count, found


def raw_lists(site):
    """Lists that have become paragraphs, because mkdocs reads lists otherwise than hosts of repositories do."""
    for path in sorted(pathlib.Path(site).rglob("*.html")):
        text = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for found in re.finditer(r"<p>((?:(?!</p>).)*?\n(?:- |1\. |\| ).*?)</p>", text, re.DOTALL):
            yield f"{path.relative_to(site)}: {found[1][:80]!r}"
