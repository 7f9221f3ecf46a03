"""Addresses and moments, which are copied to the letter; what stands before a line of a chat."""

import re

_NAME = r"(?:[A-ZÀ-Þ][\w'’-]*+)"
# Ann Example <ann@example.com>, "Li, Bo" <bo@example.com>
MAILBOX = (
    rf'(?:"[^"<>\n]{{1,60}}+"\s|{_NAME}\.?(?:,?\s(?:del?|la|v[ao]n|{_NAME}\.?)){{0,4}}+\s)?'
    r"<[\w.+-]++@(?:[\w-]++\.)+[A-Za-z]{2,}+>"
)
_DAY = r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4}"
# A moment as machines write it: 10:00:00 +0100, 2024-03-12T10:00:00Z
TIMESTAMP = (
    rf"(?<![\w:.,/])(?:(?:{_DAY}|(?:[A-Z][a-z]{{2}},\s)?\d{{1,2}}\s[A-Z][a-z]{{2}}\s\d{{4}}),?[T\s])?"
    r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?:\s?[AP]M\b)?"
    r"(?:Z\b|\s?[+-]\d\d:?\d\d\b|\s(?:GMT|UTC)\b)?(?![:\w])"
)
_STREETS = (
    "Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Square|Sq|Court|Terrace|Crescent"
)
_CALLES = (
    r"C/|Calle|Avda?\.|Av\.|Avenida|Plaza|P(?:la)?za\.|Paseo|P\.º|Ctra\.|Carretera|Camino|Ronda"
)
_TOWN = (  # with what a post office sorts by
    rf"(?:,\s{_NAME}(?:\s{_NAME}){{0,2}},?\s"
    r"(?:[A-Z]{2}\s\d{5}(?:-\d{4})?|[A-Z]{1,2}\d\w?\s\d[A-Z]{2})\b)?"
)
POSTAL_ADDRESS = (
    rf"(?<![\w.,])\d{{1,5}}[A-Z]?\s(?:{_NAME}\s){{1,3}}(?:{_STREETS})\b"
    rf"(?:\.(?=,|\s[a-z]))?(?:,\s(?:Apt|Suite|Unit|Flat)\.?\s\w+)?{_TOWN}"
    rf"|(?<!\w)(?i:{_CALLES})\s?(?:(?:del?|las?|los|el|y)\s){{0,2}}{_NAME}"
    rf"(?:\s(?:del?|las?|los|y|{_NAME})){{0,5}},?\s(?:n\.?º\s?)?(?:\d{{1,4}}(?![\d/.]\d)|s/n)\b"
    r"(?:,\s\d{1,2}\.?[ºª](?:\s(?:[A-Z]|izda?\.|dcha\.)(?!\w))?)?"
    rf"(?:,\s\d{{5}}\s{_NAME}(?:\s{_NAME}){{0,2}})?"
    r"|(?<!\w)(?:Apdo\.|Apartado)(?:\sde\s[Cc]orreos|\s[Pp]ostal)?\s\d+"
    r"|(?<!\w)P\.?\s?O\.?\sBox\s\d+"
)
_TIME = r"\d{1,2}[:.]\d\d(?::\d\d)?(?:\s?(?i:[ap]\.?\s?m\.?))?"
_SPEAKER = r"(?:<[^<>\n]{1,40}+>|[~@+]{0,2}[\w.'’-]++(?:\s[A-ZÀ-Þ\d(][\w.'’()-]*+){0,3}:)"
CHAT_PREFIX = re.compile(  # of a line: 3/12/24, 9:15 PM - Ann: [21:15] <ann> Ann, [12.03.24 21:25]
    rf"(?:{_DAY},?\s{_TIME}(?:\s?[-–—](?:\s{_SPEAKER})?|\s{_SPEAKER})"
    rf"|\[(?:{_DAY},?\s)?{_TIME}\](?:\s?[-–—])?(?:\s{_SPEAKER})?|{_TIME}\s<[^<>\n]{{1,40}}+>"
    rf"|{_NAME}(?:\s{_NAME}){{0,3}},\s\[(?:{_DAY},?\s)?{_TIME}\]:?)(?:\s++|$)"
)
