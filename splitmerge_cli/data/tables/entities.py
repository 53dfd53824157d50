"""XML of a file from anywhere: no document type, which may define entities."""

from xml.parsers import expat

from splitmerge_cli.data.opening import CHUNK


def reject_entities(data: bytes) -> None:
    """Raise a ValueError unless XML begins without a document type, whose entities may stand for any amount of text."""

    def reject(name: str, *_: object) -> None:
        raise ValueError(f"a document type (<!DOCTYPE {name}>); expected none, as it may define entities")

    def begin(*_: object) -> None:
        # no document type may follow
        parser.StartElementHandler = None
        began.append(True)

    began: list[bool] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = reject, begin
    for start in range(0, len(data), CHUNK):
        if began:
            return
        parser.Parse(data[start : start + CHUNK], False)
