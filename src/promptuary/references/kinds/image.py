"""Images that ``@file:`` attaches: as sources with their cost, as parts of a message, and again in a history.

The ledger stores a description of an image, not its bytes. An earlier message shows the image again only while its file
is unchanged: a changed file would show the model something that was never discussed.
"""

from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from promptuary.base.blocks import MOST_EARLIER_BYTES, MOST_IMAGES, Attachment, Detail, Picture, Source
from promptuary.base.errors import Code, SourceError
from promptuary.base.text import one_line
from promptuary.tokens.counting import image_rule
from promptuary.workspace.documents.names import is_image
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.base.messages import Item, WireImage

IMAGE_NOTE: Final = "The image itself goes with this message, and with later ones as long as its file stays the same."


def image_source(path: str, picture: Picture, model: str) -> Source:
    """Return an image, for a model that takes images. Raises ``SourceError`` if it does not, or that is unknown."""
    what = f"{picture.format}, {picture.width:,} × {picture.height:,} pixels"
    rule = image_rule(model)
    if rule is None:
        unknown = f"{one_line(model)[:60]} is not known to take images"
        why = unknown if model else "what it costs depends on the model, which is not known"
        advice = "name one that takes images: --model, or model in your configuration (gpt-4o, claude-sonnet-4)"
        raise SourceError(Code.UNSUPPORTED_TYPE, f"{path} is an image ({what}), and {why}; {advice}")
    return Source(
        key=f"file:{path}",
        label=path,
        kind="image",
        text="",
        revision=sha256(picture.data).hexdigest(),
        path=path,
        facts=(what, f"{len(picture.data):,} bytes"),
        notes=(IMAGE_NOTE,),
        read_on="attach it alone",
        picture=picture,
        picture_tokens=rule(picture.width, picture.height),
    )


def wire_image(source: Source, picture: Picture) -> "WireImage":
    """Return an image in the format of a message."""
    return {
        "name": source.label,
        "media_type": picture.media_type,
        "width": picture.width,
        "height": picture.height,
        "sha256": source.revision,
        "tokens": source.picture_tokens,
        "data": b2a_base64(picture.data, newline=False).decode(),
    }


def images_again(items: Sequence["Item"], workspace: Workspace, model: str) -> Mapping[str, tuple["WireImage", ...]]:
    """Return the images with unchanged files of each message of a history, by its id; if too many, the last ones."""
    shown: dict[str, tuple[WireImage, ...]] = {}
    count = size = 0
    for item in reversed(items):
        found = [one for one in item.attachments if one.detail is Detail.FULL and is_image(one.path)]
        sources = [source for one in found if (source := _same(one, workspace, model)) is not None]
        count += len(sources)
        size += sum(len(picture.data) for source in sources if (picture := source.picture))
        if count > MOST_IMAGES or size > MOST_EARLIER_BYTES:
            break
        if sources:
            shown[item.id] = tuple(wire_image(one, one.picture) for one in sources if one.picture)
    return shown


def _same(one: Attachment, workspace: Workspace, model: str) -> Source | None:
    try:
        image = workspace.picture(one.path)
        source = image_source(*image, model) if image else None
    except SourceError:
        return None
    return source if source and source.revision == one.revision else None
