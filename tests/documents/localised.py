"""Files of programs and translators, with what comes of them when their texts are in capitals.

« and » stand around the texts of those of one language; brackets around what is added to those of
two. Neither is a part of the files.
"""

import re

STAYS = re.compile(
    r"https?://\S+|%\(\w+\)s|%#@\w+@|%\{\w+\}|%[\d$]*[a-zA-Z@]|\{+[^{}]*\}+|\$t\([^)]*\)|\\.|&\w+;|<[^>]*>|:\w+"
)


def loud(text: str) -> str:
    """Capitals, but for placeholders, escapes and tags."""
    parts = re.split(f"({STAYS.pattern})", text)
    return "".join(part if number % 2 else part.upper() for number, part in enumerate(parts))


ANDROID = r"""<?xml version='1.0' encoding='utf-8'?>
<!-- Strings of the garden -->
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2" >
    <string name="app_name" translatable="false">Garden</string>
    <string name="welcome">«Welcome, %1$s! You have %2$d plants &amp; trees.»</string>
    <string name="quote">«Don\'t close the window\nbefore the end»</string>
    <string name="bold">«Press <b>Save</b> to <i>keep</i> your work»</string>
    <string name="page"><![CDATA[«Read the <a href="//a.b/?c=d&e=f">terms</a> & go»]]></string>
    <string name="who">«Hello »<xliff:g id="name">%s</xliff:g>«, good morning»</string>
    <string name="wide">"«  Two  spaces  »"</string>
    <string name="at">@string/app_name</string><string name="at2">«\@home now»</string>
    <string-array name="days"><item>«Monday»</item>
        <item>@string/tuesday</item></string-array>
    <string-array name="codes" translatable="false"><item>first one</item></string-array>
    <style name="a"><item name="android:color">red</item></style>
    <plurals name="items">
        <item quantity="one">«%d item was removed»</item>
        <item quantity='other' >«%d items were removed»</item>
    </plurals>
</resources>
"""
RESX = """<?xml version="1.0" encoding="utf-8"?>
<root>
  <resheader name="reader"><value>System.Resources.ResXResourceReader</value></resheader>
  <data name="Title" xml:space="preserve">
    <value>«The red house»</value>
    <comment>Title of the window</comment>
  </data>
  <data name="Count"><value>«{0} items &amp; {1:N2} more\nof it»</value></data>
  <data name="File"><value>&amp;«File»</value></data>
  <data name="Icon" type="System.Resources.ResXFileRef"><value>icon file.ico</value></data>
  <data name="&gt;&gt;label1.Name"><value>label one</value></data>
  <data name="Empty"><value /></data>
</root>
"""
QT = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="es_MX" sourcelanguage="en">
<context>
    <name>MainWindow</name>
    <message>
        <location filename="../main.cpp" line="12"/>
        <source>&amp;Open file...</source>
        <translation type="unfinished">(&amp;OPEN FILE...)</translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) removed</source>
        <translation type="unfinished">
            <numerusform>(%n FILE REMOVED)</numerusform>
            <numerusform>(%n FILES REMOVED)</numerusform>
        </translation>
    </message>
    <message><source>Save</source><comment>button</comment><translation>Guardar</translation>
    </message>
    <message><source>Old</source><translation type="vanished"></translation></message>
    <message><source>Draft</source><translation type="unfinished">Borrador</translation></message>
</context>
</TS>
"""
STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/a.dtd">
<plist version="1.0">
<dict>
	<key>%d items left</key>
	<dict>
		<key>NSStringLocalizedFormatKey</key>
		<string>«You have %#@items@ left»</string>
		<key>items</key>
		<dict>
			<key>NSStringFormatSpecTypeKey</key>
			<string>NSStringPluralRuleType</string>
			<key>NSStringFormatValueTypeKey</key> <string>d</string>
			<key>one</key>
			<string>«%d item»</string>
			<key>other</key>
			<string>«%d items»</string>
		</dict>
	</dict>
</dict>
</plist>
"""
STRINGS = r"""/* Title of the
   "window" = "no"; */
"window.title" = "«The red house»";

// greeting
"hello %@" = "«Hello %@, you have %d messages»"; // to a "friend";
"quote"="«He said \"good morning»\"\n«and left; so what?»" ; save = "«Save»"; "a"
    = /* b */ "«Two
lines»";
"empty" = "";
"""
PROPERTIES = r"""# Messages of the shop
! old = comment
login.title=«Welcome to the house»
login.button : «Log in»
cart.count={0} «items in the cart», {1,number,integer} «left»
quote = «It''s {0}''s house: two = one»
path=https://example.com/a?b=c
key\ with\ spaces   «Some words»
a\:b=#«five»

empty=
last=«And so on»"""
INI = """; settings
[main]
title=«The red house»
text : «Press the button» ; comment
quoted = "«Two words»"
n=5
[Other one]
path = %(home)s
"""
PHP = r"""<?php
/* Messages: 'no' => 'no' */
return [
    'welcome' => '«Welcome to the house, :name. It\'s late»',
    "quote" => "«He said \"hello\"»\n",
    "who" => "«Hello» $name«, you have» {$user->count} «messages at 10:30»",
    'nested' => ['save' => '«Save it»', // 'inline' => 'no'
        array('x' => '«Old array»', 'list' => ['«one thing»', '«another thing»'])],
    'called' => trans('other.key'),
];
$lang['key'] = '«A value»';
define('KEY', '«Another value»');
const NAME = '«A third value»';
"""
FLUENT = """# Comment
-brand = Firefox
title = «The red house»
greeting = «Hello», { $name }«!
    Welcome to» { -brand }«.»
items = «You have» { $n ->
    [one] «one item»
   *[other] { NUMBER($n) } «items»
} «now»
button = «Save»
    .title = «Save the file»
    .accesskey = S
"""
ARB = """{
  "@@locale": "en",
  "title": "«The red house»",
  "@title": {
    "description": "Title of the page",
    "placeholders": { "n": { "type": "int" } }
  },
  "items": "{n, plural, =0{«No items»} =1{«One item»} other{{n} «items»}}"
}
"""
I18NEXT = r"""{ "common": {"save": "«Save»","cancel" : "«Cancel»", "icon": "home", "type": "int"},
  "item_one": "{{count}} «item»",
  "item_other": "{{count}} «items»",
  "@nest": {"description": "where it stands"}, "@id": "alone", "@graph": [{"name": "«See»"}],
  "nest": ["«See $t(common.save) first»", "MM/DD/YYYY", null, 1.50, "https://a.b/c"],
  "caf\u00e9": "«Coffee»", "twice": "«a»", "twice": "«b»"}
"""
RAILS = """# Rails
en:
  hello: "«Hello», %{name}!"
  users:
    one: "%{count} «user»"
    other: "%{count} «users»"
  html: '«It''s <b>bold</b>»' # comment
  formats: {default: "%Y-%m-%d"}
  icon: home
"""
XLIFF = """<?xml version='1.0' encoding="UTF-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
  <file source-language="en-US" target-language='es-MX' original="a.txt"><body>
      <trans-unit id="1" ><source>Open <g id="1">it</g> &quot;now&quot;</source>
        <target state="needs-translation">(OPEN <g id="1">IT</g> "NOW")</target></trans-unit>
      <trans-unit id="2"><source>Save</source><target state="final">Guardar</target></trans-unit>
      <trans-unit id="3"><source>Same</source><target>Same</target></trans-unit>
      <trans-unit id="4" translate="no"><source>Stay</source></trans-unit>
  </body></file>
</xliff>
"""
XLIFF_2 = """<xliff xmlns='urn:oasis:names:tc:xliff:document:2.0' version='2.0' srcLang='en-us'
 trgLang='es-419'><file id='f'><unit id='1'><notes><note>No note.</note></notes>
 <segment state="initial"><source>The <pc id='1'>red</pc> house</source>(<target>THE\
 <pc id='1'>RED</pc> HOUSE</target>)</segment></unit></file></xliff>
"""
TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US" adminlang="en"/><body>
<tu><tuv xml:lang="en-US"><seg>Save</seg></tuv><tuv xml:lang="es-ES"><seg>Guardar</seg></tuv></tu>
<tu><tuv xml:lang="en-US"><seg>The house</seg></tuv>(<tuv xml:lang="es-ES"><seg>THE HOUSE</seg>\
</tuv>)</tu>
</body></tmx>
"""
PO = r"""# Garden
msgid ""
msgstr ""
"Project-Id-Version: garden 1.0\n"
"Language: es_MX\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. comment
#: src/a.c:12
#, c-format
msgid ""
"Hello %s,\n"
"you have \"mail\""
msgstr ""(
"HELLO %s,\n"
"YOU HAVE \"MAIL\"")

#, fuzzy
msgid   "Old"
msgstr "Nuevo"
msgctxt "menu"
msgid "_File"
msgstr "(_FILE)"


msgid "%d file"
msgid_plural "%d files"
msgstr[0] "(%d FILE)"
msgstr[1] "(%d FILES)"

#~ msgid "gone"
#~ msgstr ""
"""
POT = """msgid ""
msgstr ""
"Language: (es)\\n"
"Content-Type: text/plain; charset={CHARSET|UTF-8}\\n"
"Content-Transfer-Encoding: {ENCODING|8bit}\\n"
"Plural-Forms: nplurals={INTEGER; plural=EXPRESSION|2; plural=(n != 1)};\\n"

msgid "Open"
msgstr "(OPEN)"
"""


def monolingual(text: str, *changes: tuple[str, str]) -> tuple[str, str]:
    """A file, and itself with its texts in capitals and with what else changes."""
    parts = re.split("«(.*?)»", text, flags=re.DOTALL)
    expected = "".join(loud(part) if number % 2 else part for number, part in enumerate(parts))
    for before, after in changes:
        assert before in expected
        expected = expected.replace(before, after, 1)
    return re.sub("[«»]", "", text), expected


def bilingual(text: str, *changes: tuple[str, str]) -> tuple[str, str]:
    """A file without what stands in brackets, and the same with it; {before|after}."""
    before = re.sub(r"(?<=[\">,: \n])\((?=[A-Z&<%\"\n_e]).*?\)(?=[<\"\n\\])", "", text, flags=re.S)
    expected = re.sub(
        r"(?<=[\">,: \n])\((?=[A-Z&<%\"\n_e])(.*?)\)(?=[<\"\n\\])", r"\1", text, flags=re.S
    )
    for change in changes:
        expected = expected.replace(*change)
    return (re.sub(r"\{([^{}|]*)\|[^{}|]*\}", r"\1", before),
            re.sub(r"\{[^{}|]*\|([^{}|]*)\}", r"\1", expected))  # fmt: skip


MANY = """
        <item quantity="many" >%d ITEMS WERE REMOVED</item>
    </plurals>"""
FINISHED = (' type="unfinished">&', ">&"), (' type="unfinished">\n', ">\n")
FILES = {
    "strings.xml": monolingual(ANDROID, ("\n    </plurals>", MANY)),
    "a.resx": monolingual(RESX),
    "a.ts": bilingual(QT, *FINISHED),
    "a.stringsdict": monolingual(STRINGSDICT),
    "a.strings": monolingual(STRINGS, ("TWO\nLINES", "TWO\\nLINES")),
    "a.properties": monolingual(PROPERTIES),
    "a.ini": monolingual(INI),
    "a.php": monolingual(PHP),
    "a.ftl": monolingual(FLUENT),
    "a.arb": monolingual(ARB, ('"en"', '"es"')),
    "a.json": monolingual(
        I18NEXT, ('ITEMS"', 'ITEMS",\n  "item_many": "{{count}} ITEMS"')),
    "a.yml": monolingual(RAILS, ("en:", "es:")),
    "a.xlf": bilingual(XLIFF, ("needs-translation", "translated")),
    "b.xlf": bilingual(XLIFF_2, ("initial", "translated")),
    "a.tmx": bilingual(TMX),
    "a.po": bilingual(PO),
    "a.pot": bilingual(POT),
}  # fmt: skip
