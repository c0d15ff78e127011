"""PDF files made by hand."""


def pdf(*pages: list[str], extra: str = "", trailer: str = "") -> bytes:
    """A PDF with these lines of text on its pages, in any script."""
    characters = sorted({character for page in pages for line in page for character in line})
    units = [character.encode("utf-16-be").hex() for character in characters]
    mapping = "".join(f"1 beginbfchar\n<{unit}> <{unit}>\nendbfchar\n" for unit in units)
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def\n"
        f"1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n{mapping}endcmap end end"
    )
    kids = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type0 /BaseFont /F /Encoding /Identity-H"
        " /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>",
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /F /DW 1000"
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        f"<< /Length {len(cmap)} >>\nstream\n{cmap}\nendstream",
    ]
    for number, page in enumerate(pages):
        lines = "".join(f"<{line.encode('utf-16-be').hex()}> Tj 0 -20 Td\n" for line in page)
        content = f"BT /F 12 Tf 50 750 Td\n{lines}ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 2000 800] /Contents {7 + 2 * number} 0 R"
            " /Resources << /Font << /F 3 0 R >> >> >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    objects += [extra] if extra else []
    body = "%PDF-1.4\n"
    offsets = []
    for number, each in enumerate(objects, start=1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{each}\nendobj\n"
    entries = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    body += (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{entries}"
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer.replace('LAST', str(len(objects)))} >>\n"
        f"startxref\n{len(body)}\n%%EOF\n"
    )
    return body.encode("latin-1")


LOCKED = pdf(
    ["secret"],
    extra=f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{'41' * 32}> /U <{'42' * 32}> >>",
    trailer=f"/Encrypt LAST 0 R /ID [<{'43' * 16}> <{'43' * 16}>]",
)
