"""Lines of a shell as the commands in them, so that each can be held against its program without being run."""
import re
import shlex
import subprocess

SEPARATORS = {"&&", "||", ";", "|", "&", "(", ")", "<("}


def lines_of(block):
    """What is typed: all of a block of commands; of a session, which shows answers too, what follows its prompts."""
    if block.language == "console":
        typed = re.findall(r"^\$ (.*(?:\\\n.*)*)", block.text, re.MULTILINE)
        return "\n".join(typed) + "\n"
    return block.text


def commands(text):
    """[words] of each command, those in $(...) included; assignments in front of a command and redirections are left out."""
    text = text.replace("\\\n", " ")
    while True:
        inner = re.search(r"\$\(([^()]*)\)", text)
        if not inner:
            break
        yield from commands(inner[1])
        text = text[:inner.start()] + "SUBSTITUTED" + text[inner.end():]
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = []
        for word in [*lexer, ";"]:
            if word in SEPARATORS:
                yield from plain(words)
                words = []
            else:
                words.append(word)


def plain(words):
    out, skip = [], False
    for word in words:
        if skip or (not out and re.match(r"[A-Za-z_][A-Za-z0-9_]*=", word)):
            skip = False
        elif re.fullmatch(r"\d?[<>]+", word):
            skip = True
        else:
            out.append(word)
    if out:
        yield out


def syntax_error(text):
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    return done.stderr.strip()
