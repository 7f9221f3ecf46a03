"""LaTeX keeps all but its prose."""

import re
from collections.abc import Sequence

import pytest

from tests.documents.shouting import raised, shouted
from transformer.config import UserError
from transformer.documents.formats import read
from transformer.documents.translate import translate_file

walker = pytest.importorskip("pylatexenc.latexwalker", reason="needs the extra `files`")

PAPER = r"""\documentclass[12pt]{article}
\usepackage[utf8]{inputenc}
\newenvironment{caja}{\begin{center}}{\end{center}}
\newcommand{\propio}[1]{\textbf{#1} no}
\title{La casa roja}
\author{Ana Pérez}
% comentario no
\begin{document}
\maketitle
\section{El perro}\label{sec:no}
La casa es \emph{grande} y mide $x^2$ metros\footnote{Es una \textbf{nota} corta.} según~\cite{no}.
Cuesta 5\,\% m\'as --- o ``menos''. % no
Véase la figura~\ref{fig:no}.

\begin{itemize}
  \item El gato negro.
  \item[Agua] La lluvia \propio{no}[no].
\end{itemize}
\begin{equation}
  a = b
\end{equation}
\begin{lstlisting}[language=C]
int no() { return 1; } % {{
\end{lstlisting}
\begin{figure}[ht]
  \centering
  \includegraphics[width=3cm]{no.png}
  \caption[no]{El mapa de la ciudad.}
\end{figure}
\begin{tabular}{l|c}
  \hline
  El nombre & La edad \\
  Ana & 3 \\
\end{tabular}
\begin{teorema}[no]
  El número es primo.
\end{teorema}
{\bf Hola} mundo.
\begin{frame}[fragile]{El título}
uno
\end{frame}
Hola %
mundo \verb|no| \href{http://no.no/a_b}{la página}, \url{http://no}.
\end{document}
no
"""
SAID = (
    "La casa roja El perro es grande y mide metros una nota corta según Cuesta menos Véase figura "
    "gato negro Agua lluvia mapa de ciudad nombre edad Ana número primo Hola mundo título uno"
    " página el la más o Es"
)


def test_a_paper_keeps_all_but_its_prose() -> None:
    expected = PAPER.replace(r"m\'as", "más").replace("no}.\nCuesta", "no}. Cuesta")
    begin = expected.index(r"\begin{document}")
    head = expected[:begin].replace("La casa roja", "LA CASA ROJA")
    assert shouted(PAPER, ".tex") == head + raised(expected[begin:], SAID)
    assert translate_file(PAPER.encode(), "a.tex", list) == PAPER.encode()


@pytest.mark.parametrize("content", [PAPER, r"\section{Hola} Caf\'e \textbf{con} leche."])
def test_commands_and_braces_are_those_of_the_source(content: str) -> None:
    written = shouted(content, ".tex")
    walker.LatexWalker(written.partition(r"\begin{document}")[2], tolerant_parsing=False)
    for signs in (r"\\[A-Za-z]+", r"[{}$&]"):
        assert re.findall(signs, written) == re.findall(signs, content)


@pytest.mark.parametrize(
    ("content", "said", "expected"),
    [
        ("mar", "50% & {a_b} #1 $ ~ ^ \\", r"50\% \& \{a\_b\} \#1 \$ \~{} \^{} \textbackslash{}"),
        ("Caf\\'e", "año", r"a\~no"),  # the author writes no signs beyond ASCII
        ("café", "año", "año"),
        ("``mar'' --- sol", "“sea” — sun", "``sea'' --- sun"),
        ("``mar''", 'a "sea"', "a ``sea''"),
        ("el 5~km", "the 5 km", "the 5~km"),
    ],
)
def test_a_translation_brings_no_commands(content: str, said: str, expected: str) -> None:
    def translate(texts: Sequence[str]) -> list[str]:
        return [said for _ in texts]

    assert translate_file(content.encode(), "a.tex", translate).decode() == expected


def test_accents_quotes_and_escapes_are_read() -> None:
    said = [p.text for p in read(r"M\'as ma\~nana, ?`no? El 5\,\% de ``A\&B''.", ".tex").passages]
    assert said == ["Más mañana, ¿no? El 5<0/>% de “A&B”."]


@pytest.mark.parametrize(
    "content", [r"\emph{a", r"\begin{a} b", "a } b", r"\begin{minted}{c} a", r"\begin{a}\end{b}"]
)
def test_what_is_not_closed_is_refused(content: str) -> None:
    with pytest.raises(UserError, match=r"expected (LaTeX with each|.end.minted. behind)"):
        read(content, ".tex")
