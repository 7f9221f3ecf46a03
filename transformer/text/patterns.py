"""Patterns of tokens that are not translated, and how each stands in a sentence.

One table, `PATTERNS`, by kind: at each place of a text the first pattern that fits is taken.
Possessive repeats, bounds, and lookbehinds that let a search begin at one place of a run only keep
it linear in its length. `CHAT_PREFIX` is what stands before a line of a chat.
"""

import re

MIN_UNBROKEN_CHARS = 64  # of what is no word in any language: encoded bytes, a key held down
_TOKEN = r"A-Za-zÀ-ɏ\u0300-\u036f0-9_+/=-"
_FILE_ENDINGS = (
    "avif|bat|bmp|cfg|conf|cpp|css|csv|dll|docx?|epub|exe|flac|gif|gz|html?|ics|ini|ipynb|jpe?g"
    "|jsonl?|js|log|md|mkv|mov|mp[34]|od[pst]|pdf|php|png|po|pptx?|py|rar|rtf|sh|sql|srt|svg|tar"
    "|tex|txt|tiff?|tsv|vtt|wav|webp|xlsx?|xml|ya?ml|zip"
)
# A hash, a UUID, the number of an account: they change between letters and digits three times,
# more than `B2B-Marketing` does, or are letters and ten digits.
_MIXED = (
    rf"(?=(?:(?:(?![A-Za-z]\d|\d[A-Za-z])[{_TOKEN}])*+[{_TOKEN}]){{3}})"
    rf"|(?=[0-9_+/=-]*+[A-Za-z])(?=(?:(?:(?!\d)[{_TOKEN}])*+\d){{10}})"
)
_YEAR = r"(?:[yY]{4}|[yY]{2}|A{4}|a{4}|AA|aa)"  # of a pattern for dates; año
_DATE_UNIT = rf"(?:{_YEAR}|M{{1,4}}|D{{1,2}}|d{{1,4}}|H{{1,2}}|h{{1,2}}|m{{1,2}}|s{{1,2}}|S{{1,6}})"
_CLOCK = r"[Hh]{1,2}[:.]mm(?:[:.]ss)?(?:[.,]S{1,6})?(?:\s?[aA](?!\w))?"
_STRFTIME = r"%-?[aAbBcdeHIjmMpSTuUwWxXyYzZ]"
_ATTRIBUTES = (  # of a tag in brackets
    r"""(?:\s[\w-]{1,40}+=(?:"[^"\n]{0,200}+"|'[^'\n]{0,200}+'|[^\s\]"']{1,60}+)){1,12}+"""
)
_BBCODE = (
    r"[bisu]|url|img|quote|code|list|li|size|color|center|spoiler|su[bp]|table|t[rdh]|h[1-6]|\*"
)
_PROPERTY = (  # of a style sheet
    r"color|margin|padding|display|float|position|width|height|opacity|overflow|z-index"
    r"|(?:font|background|border|text|line|flex|grid)-[a-z]{1,12}+(?:-[a-z]{1,12}+)?"
)
_COMMANDS = (
    "git|npm|npx|yarn|pip3?|python3?|docker|kubectl|apt|apt-get|brew|curl|wget|cargo|conda|ssh"
    "|chmod|mkdir|grep|tar|ls|rm|cp"
)
_MEDIA_TYPES = "application|audio|font|image|message|model|multipart|text|video"  # of a media type

_NAME = r"(?:[A-ZÀ-Þ][\w'’-]*+)"
# Ann Example <ann@example.com>, "Li, Bo" <bo@example.com>
_MAILBOX = (
    rf'(?:"[^"<>\n]{{1,60}}+"\s|(?![AP]M\s){_NAME}\.?(?:,?\s(?:del?|la|v[ao]n|{_NAME}\.?)){{0,4}}+\s)?'
    r"<[\w.+-]++@(?:[\w-]++\.)+[A-Za-z]{2,}+>"
)
_DAY = r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4}"
# 10:00:00 +0100, 2024-03-12T10:00:00Z
_TIMESTAMP = (
    rf"(?<![\w:.,/])(?:(?:{_DAY}|(?:[A-Z][a-z]{{2}},\s)?\d{{1,2}}\s[A-Z][a-z]{{2}}\s\d{{4}}),?[T\s])?"
    r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?:\s?[AP]M\b)?"
    r"(?:Z\b|\s?[+-]\d\d:?\d\d\b|\s(?:GMT|UTC)\b)?(?![:\w])"
)
_STREETS_EN = (
    "Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Square|Sq|Court|Terrace|Crescent"
)
_STREETS_ES = (
    r"C/|Calle|Avda?\.|Av\.|Avenida|Plaza|P(?:la)?za\.|Paseo|P\.º|Ctra\.|Carretera|Camino|Ronda"
)
_TOWN = (  # with what a post office sorts by
    rf"(?:,\s{_NAME}(?:\s{_NAME}){{0,2}},?\s"
    r"(?:[A-Z]{2}\s\d{5}(?:-\d{4})?|[A-Z]{1,2}\d\w?\s\d[A-Z]{2})\b)?"
)
_POSTAL_ADDRESS = (
    rf"(?<![\w.,])\d{{1,5}}[A-Z]?\s(?:{_NAME}\s){{1,3}}(?:{_STREETS_EN})\b"
    rf"(?:\s(?:[NS][EW]?|[EW])\b)?(?:\.(?=,|\s[a-z]))?(?:,\s(?:Apt|Suite|Unit|Flat)\.?\s\w+)?{_TOWN}"
    rf"|(?<!\w)(?i:{_STREETS_ES})\s?(?:(?:del?|las?|los|el|y)\s){{0,2}}{_NAME}"
    rf"(?:\s(?:del?|las?|los|y|{_NAME})){{0,5}},?\s(?:n\.?º\s?)?(?:\d{{1,4}}(?![\d/.]\d)|s/n)\b"
    r"(?:,\s\d{1,2}\.?[ºª](?:\s(?:[A-Z]|izda?\.|dcha\.)(?!\w))?)?"
    rf"(?:,\s\d{{5}}\s{_NAME}(?:\s{_NAME}){{0,2}})?"
    r"|(?<!\w)(?:Apdo\.|Apartado)(?:\sde\s[Cc]orreos|\s[Pp]ostal)?\s\d+"
    r"|(?<!\w)P\.?\s?O\.?\sBox\s\d+"
)

PATTERNS = {
    # `ls -l` of Markdown
    "code": r"`[^`\n]++`",
    # </b>, <a href="x">, <0/>; a footnote of a wiki: <ref>Smith, p. 3</ref>
    "tag": r"<ref(?:\s[^<>\n/]{0,99}+)?>[^<>\n]{0,300}+</ref>"
    r"|<(?:/?[A-Za-z][\w:.-]*+(?:/|\s[^<>\n]*+)?|/?\d{1,2}/?)>",
    # the colours of a terminal: ESC[31m
    "colour": r"\x1b\[[\d;]*+[A-Za-z]",
    # of subtitles: {\an8}, {\i1}
    "override": r"\{\\[^{}\n]{1,200}+\}",
    # of Jinja, Liquid, ERB: {% if x %}, {# x #}, <% x %>
    "template": r"\{%(?:[^%\n]|%(?!\})){0,200}+%\}|<%(?:[^%\n]|%(?!>)){0,200}+%>"
    r"|\{\#(?:[^\#\n]|\#(?!\})){1,200}+\#\}",
    # of {n, plural, one {# day} other {# days}} all but the words
    "message": r"\{\s?[\w.-]{1,40}+,\s?(?:plural|select|selectordinal),(?:\s?offset:\d++)?"
    r"\s?[\w=]{1,20}+\s?\{|\}\s?[\w=]{1,20}+\s?\{|\}\s?\}|(?<=\{)\#(?=\s)",
    # a line of a program, or a value
    "statement": r"(?m:^)[ \t]*+(?:(?:if|for|while|switch|catch)\s?\("
    r"(?=[^\n]*[<>=!&|;:{])[^\n]++(?<=[;{})])"
    r"|(?:const|let|var|int|float|double|auto|string|bool)\s\w++\s?=[^\n]++|return\b[^;\n]{0,80}+;"
    r"|[A-Za-z_][\w.]*+\((?:[^()\n]*+\)\s?[;{]|(?:[\"'][^()\n]*+(?<=[\"']))?\))|(?:def|function|func|fn|class)\s\w++\([^\n]*+"
    r"|import\s[\w.{},* '\"]{1,99}+;|\}\s?(?:else\s?\{)?|true|false|null|undefined|NaN)"
    r"[ \t]*+(?m:$)",
    # a line of a shell
    "shell": rf"(?m:^)[ \t]*+(?:\$\s(?:cd|echo|cat|sudo|{_COMMANDS})\s[^\n]++"
    rf"|(?:sudo\s)?(?:{_COMMANDS})\s"
    r"(?:[^\n]*?(?<=\s)--?[A-Za-z][^\n]*+|(?:install|clone|run|commit|pull|push|add|checkout)"
    r"\s[\w./:@-]++))(?m:$)",
    # SELECT a FROM b WHERE c = 1;
    "sql": r"(?<!\w)(?:SELECT\s[^;\n]{1,200}?\sFROM\s|INSERT\sINTO\s|UPDATE\s\w++\sSET\s"
    r"|DELETE\sFROM\s|(?:CREATE|ALTER|DROP|TRUNCATE)\sTABLE\s)(?:[^;\n]{1,200}+;|[\w.]++"
    r"(?:\s(?:WHERE|AND|OR)\s[\w.]++\s?[<>=]{1,2}+\s?(?:'[^'\n]*+'|\w++))*+)",
    # a rule or a declaration of a style sheet: .box { margin: 0 }, color: red;
    "style": r"(?<!\w)[.\#]?[A-Za-z][\w-]{0,40}+\s?\{\s?[a-z-]{1,30}+\s?:[^{}\n]{1,300}+\}"
    rf"|(?<![\w:;{{-])(?:{_PROPERTY})\s?:\s?[^;:\n]{{1,80}}+;",
    # what it calls: .active where no sentence ends, btn-primary, 1.5em
    "selector": r"(?:(?m:^)|(?<=[(,\[])|(?<=[(,]\s)|(?<=\bthe\s)|(?<=\b[eu][ln]\s)|(?<=\bla\s)"
    r"|(?<=clase\s)|(?<=class\s))\.[a-zA-Z][\w-]++(?![\w.])|(?<!\S)\.[A-Z]{2,}+(?![\w.])"
    r"|(?<![\w-])(?:btn|bg|img|col|lg|md|sm|x[sl]|txt|cfg|src|tmp)(?:-[a-z\d]{1,20}+)++(?![\w-])"
    r"|(?<![\w.,])(?:\d++\.|\.)?\d++(?:r?em|px|v[hw]|vmin|vmax|pt)(?!\w)",
    # %d/%m/%Y, DD/MM/YYYY, HH:mm:ss, d MMM yyyy
    "date_pattern": rf"{_STRFTIME}(?:[/:., T-]{{0,2}}{_STRFTIME})++(?!\w)"
    rf"|(?<![\w/.-])(?=\S{{0,6}}?(?:{_YEAR}|DD|dd|[Hh]{{1,2}}[:.]mm|mm:ss)){_DATE_UNIT}"
    rf"(?:[/.:-]{_DATE_UNIT})++"
    rf"(?:[ T]'?T?'?(?:{_CLOCK}|{_YEAR}))?(?:\s[aA])?(?!\w)"
    rf"|(?<!\w)(?:E{{3,4}},\s)?(?:[dD]{{1,2}}\sM{{3,4}}|M{{3,4}}\s[dD]{{1,2}}),?\s{_YEAR}(?!\w)",
    # {name}, %s, %name%, ${x}, $name, $AAPL, :name, *|NAME|*, __NAME__, [[name]], Ctrl+C
    "placeholder": r"\{\{[^{}\n]{1,200}+\}\}|[$\#%]\{[^{}\n]{1,80}+\}"
    r"|\{\s?[\w.-]{1,40}+\s?,\s?(?:number|date|time|spellout|ordinal|duration)\b[^{}\n]{0,80}+\}"
    r"|\{[\w.:,!\[\]%+-]{0,40}+\}"
    r"|(?<![\d%])%(?:\(\w{1,60}+\)|\d{1,2}\$)?[-+0\#]{0,2}\d{0,3}(?:\.\d{1,2})?l{0,2}"
    r"[sdiufgxXc@](?!\w)|(?<![\w%])%[A-Za-z_][\w.-]{0,40}+%(?!\w)"
    r"|(?<!\w)(?:Ctrl|Alt|Cmd|Shift|Mayús|Win|Fn)(?:\s?\+\s?\w{1,10}+)++"
    r"|(?<![\w$])\$(?:[a-z_]\w*+|[A-Z]{1,5}+(?!\w))|(?<![\w:]):[a-z][a-z_]{1,40}+(?![\w:])"
    r"|\*\|[^|\n]{1,60}+\|\*|(?<!\w)__[A-Z][A-Z\d]*+(?:_[A-Z\d]++)*+__(?!\w)"
    r"|\[\[[^\[\]|\n]{1,120}+\]\]",
    # of a wiki: [[Page| and ]] around what it shows
    "link": r"(?<=[\w.!?)])\]\]"
    r"|\[\[[^\[\]|\n]{1,120}+\|(?:[\w=]{1,20}+\|){0,5}+(?=[^\[\]|\n]{1,200}+\]\])",
    # of boards and WordPress: [b], [url=x], [gallery ids="1,2"]; not [music]
    "board": rf"\[(?:/[a-z][\w*-]{{0,20}}+|(?<!\w\[)(?:{_BBCODE})"
    rf"|[a-z][\w-]{{0,20}}+(?:=[^\]\n]{{1,200}}+|{_ATTRIBUTES}\s?/?))\]",
    # the signs of *so*, _so_, __so__, ==so==, '''so''', and not what is between them
    "emphasis": r"(?<![\w*_='])(?P<mark>\*{1,3}+|_{1,2}+|==|'{2,5}+)"
    r"(?=[^\W_]|[¿¡(«“\"])"
    r"(?=[^\n]{1,300}?(?<=[^\W_]|[.,:;!?…)»”\"])(?P<end>(?P=mark))(?![\w*_=']))",
    # who speaks or is quoted: >>; a row of #; *note; -Yes; ...that he left; == History ==
    "rank": r">{2,}+|<{2,}+|\#{2,}+|(?m:^)(?:\*++(?=\w)|-(?=[^\W\d_]{2})|(?:\.{2,4}+|…)(?=\s?\w))"
    r"|(?m:^)={2,6}+(?=\s)|(?<=\s)={2,6}+(?=\s*+(?m:$))",
    # #café, #GoodCoffee, #fff
    "hashtag": r"(?<![\w&/\#])\#(?=\d*+[^\W\d])\w++",
    # @name, @name@host, r/spain, u/name
    "mention": r"(?<![\w@./])@[A-Za-z_](?:[\w.-]*\w)?(?:@(?:[\w-]++\.)++\w++)?"
    r"|(?<![\w/])[ru]/\w{2,}+",
    # :coffee:, :+1:, :pizza::fire:
    "emoji": r"(?<![\w:])(?::(?:[a-z][a-z\d_+-]{0,40}+|[+-]1):){1,20}+(?![\w:])",
    # C#, F#, C++; std::vector
    "language": r"(?<![\w\#])[A-Z](?:\#|\+\+)(?![\w+])"
    r"|(?<![\w:])[A-Za-z_]\w{0,60}+(?:::[A-Za-z_]\w{0,60}+)++",
    # 10:00:00 +0100; 12 High Street, Avda. de la Paz, s/n; Ann Example <ann@example.com>
    "stamp": _TIMESTAMP,
    # 3:05 PM EST, 18:30 CET, UTC+2
    "time_zone": r"(?=[A-Z])(?:(?<=[\dMmh.]\s)(?:[ECMPA][SD]T|A?EST|[CE]ES?T|[BIJ]ST)(?!\w)"
    r"|(?<!\w)(?:GMT|UTC)(?:[+-]\d{1,2}(?::\d\d)?+)?(?!\w))",
    "address": _POSTAL_ADDRESS,
    "mailbox": _MAILBOX,
    # a@b.com
    "email": r"(?<![\w.+-])[\w.+-]++@(?:[\w-]++\.)+[A-Za-z]{2,}+",
    # 10.1000/xyz123, arXiv:1706.03762v5
    "doi": r"(?<![\w.])10\.\d{4,9}+/[^\s\"<>]++|(?<!\w)(?i:arxiv:\s?)\d{4}\.\d{4,5}(?:v\d+)?(?!\w)",
    # 2001:db8::1, 00:1B:44:11:3A:B7
    "host": r"(?<![\w:.])(?:(?:[\da-fA-F]{1,4}:){7}[\da-fA-F]{1,4}"
    r"|(?:[\da-fA-F]{2}[:-]){5}[\da-fA-F]{2}"
    r"|(?:[\da-fA-F]{1,4}:){1,6}(?::[\da-fA-F]{1,4}){1,6}|::[\da-fA-F]{1,4})(?:/\d{1,3})?(?![\w:])",
    # image/png, UTF-8, ISO-8859-1
    "media_type": rf"(?<![\w/])(?:{_MEDIA_TYPES})/(?!(?:{_MEDIA_TYPES}|visual)s?\b)"
    r"[a-z\d*][\w.+*-]*+"
    r"(?<!\.)(?![\w/])|(?<![\w-])(?:(?i:utf)-?(?:7|8|16|32)(?:-?[BLbl][Ee])?|(?i:iso)-?8859-\d{1,2}+"
    r"|(?i:windows|cp)-?125\d|(?i:us-ascii|latin-?\d{1,2}))(?!\w)",
    # of a command: [-h], --red, and not -- this -- in a sentence; of JSON: "name":
    "option": r"\[--?\w[\w-]*+(?:[ =][\w<>]{1,30}+)?\]"
    r"|(?<![\w-])--[a-z]\w*+(?:-\w++)*+(?!-|[^\n]{0,200}\w--)"
    r'|"[A-Za-z_$@][\w.-]{0,60}+"\s?:(?:\s?(?:true|false|null)\b|(?=\s?["\[{\d-]))',
    # https://..., www.example.com, report.pdf, /usr/share/doc, C:\Users
    "url": r"(?<!\w)(?:(?i:https?|ftp)://|(?i:www)\.)(?=[\w\[])(?:(?!\[/)[^\s<>\"`])++"
    r"|(?<![\w@./-])(?:[\w-]++\.)+"
    rf"(?:[a-z]{{2,12}}+(?::\d{{1,5}}+)?/[^\s<>\"`]*+|(?i:com|org|net|edu|gov|{_FILE_ENDINGS})(?![\w@-]))"
    r"|(?<![\w/.~])~?(?:/[\w.@+-]++){2,}+/?|(?<!\w)[A-Za-z]:\\[^\s<>\"|]*+",
    # a hash, a key, the number of a card; L M X J V
    "token": rf"(?<![{_TOKEN}])(?=[{_TOKEN}]{{16}})(?:[{_TOKEN}]{{{MIN_UNBROKEN_CHARS},}}+"
    rf"|(?:{_MIXED})[{_TOKEN}]++)"
    r"|(?<!\w)(?:[A-Z]{2}\d{2}\s)?\d{4}(?:\s\d{4}){2,}+(?:\s\d{1,4}+)?(?!\w)"
    r"|(?<!\S)[A-ZÑ](?:\s[A-ZÑ]){2,}+(?!\S)",
    # ____ and ...... to fill in
    "blank": r"_{2,}+(?:[/. -]?_{2,}+)*+|\.{5,}+",
    # of a label, the sign of the key that chooses it: &Save, E&xit, _File
    "accelerator": r"(?<![^\s(])&(?=[^\W\d_])(?!\w{1,31}+;)"
    r"|(?<=[A-Za-z])&(?=[a-z]{2})(?!\w{1,31}+;)"
    r"|(?<!\w)_(?=[A-ZÁÉÍÓÚÑ][a-záéíóúüñ]++(?!\w))",
    # 1,234.56: not kept by itself, but a number of an address is none
    "number": r"(?<!\w)(?<![0-9][.,:/'’-])[0-9]++(?:[.,:/'’-][0-9]++)*+%?(?!\w)",
}
_TIME = r"\d{1,2}[:.]\d\d(?::\d\d)?(?:\s?(?i:[ap]\.?\s?m\.?))?"
_SPEAKER = r"(?:<[^<>\n]{1,40}+>|[~@+]{0,2}[\w.'’-]++(?:\s[A-ZÀ-Þ\d(][\w.'’()-]*+){0,3}:)"
CHAT_PREFIX = re.compile(  # 3/12/24, 9:15 PM - Ann: [21:15] <ann> Ann, [12.03.24 21:25]
    rf"(?:{_DAY},?\s{_TIME}(?:\s?[-–—](?:\s{_SPEAKER})?|\s{_SPEAKER})"
    rf"|\[(?:{_DAY},?\s)?{_TIME}\](?:\s?[-–—])?(?:\s{_SPEAKER})?|{_TIME}\s<[^<>\n]{{1,40}}+>"
    rf"|{_NAME}(?:\s{_NAME}){{0,3}},\s\[(?:{_DAY},?\s)?{_TIME}\]:?)(?:\s++|$)"
)
# Signs that say how words look, or who says them; some come in pairs, around words.
_PAIRED = rf"[*_=']{{1,5}}|\[\[.*\||\]\]|{PATTERNS['board']}"
_IS_PAIRED = re.compile(f"(?:{_PAIRED})")
_IS_MARKUP = re.compile(rf"(?:{_PAIRED}|[>.<\#=-]+|…|{PATTERNS['colour']}|{PATTERNS['override']})")
_IS_MESSAGE = re.compile(rf"(?:{PATTERNS['message']})")


def is_markup(token: str) -> bool:
    """Return whether a token is markup, which is not a word of the sentence around it."""
    return _IS_MARKUP.fullmatch(token) is not None


def is_paired_markup(token: str) -> bool:
    """Tell whether a token opens or closes what is between two such: **, __, [b], [/b], ]]."""
    return _IS_PAIRED.fullmatch(token) is not None


def is_accelerator(token: str) -> bool:
    """Return whether a token marks an accelerator key, as & in "&File" does."""
    return token in ("&", "_")


def is_message_syntax(token: str) -> bool:
    """Tell whether the texts around a token are translated one by one: `{n, plural, one {`."""
    return _IS_MESSAGE.fullmatch(token) is not None
