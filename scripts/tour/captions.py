"""The words within figures and tables, in both languages; the prose is in the templates."""

from collections.abc import Sequence
from typing import Any

PAPER = {
    "self": "self-attention",
    "cross": "encoder-decoder attention",
    "feed": "feed-forward",
    "encoder": "encoder",
    "decoder": "decoder",
    "memory": "output of the last layer",
    "softmax": "softmax over the vocabulary",
    "source": "source + positions",
    "target": "target + positions",
}
SPANISH = {
    "self-attention": "autoatención",
    "encoder-decoder attention": "atención al codificador",
    "feed-forward": "red prealimentada",
    "encoder": "codificador",
    "decoder": "decodificador",
    "output of the last layer": "salida de la última capa",
    "softmax over the vocabulary": "softmax del vocabulario",
    "source + positions": "origen + posiciones",
    "target + positions": "destino + posiciones",
    "Rings: X. Discs: A X.": "Anillos: X. Discos: A X.",
    "hard attention": "atención dura",
    "soft attention": "atención blanda",
    "the mean": "la media",
    "undivided": "sin dividir",
    "divided by 8": "divididas por 8",
    "score 1": "puntuación 1",
    "score 2": "puntuación 2",
    "weight 1": "peso 1",
    "weight 2": "peso 2",
    "h, encoder states": "h, estados del codificador",
    "s, decoder state": "s, estado del decodificador",
    "α, weights": "α, pesos",
    "c, context": "c, contexto",
    "weights of eight heads": "pesos de ocho cabezas",
    "Heads 1 to 8; each row is a word that looks at the four columns.": (
        "Cabezas 1 a 8; cada fila es una palabra que mira las cuatro columnas."
    ),
    "may look": "puede mirar",
    "right: −∞": "correcto: −∞",
    "slip: −1e−9": "error: −1e−9",
    "attention over patches": "atención sobre parches",
    "perceptron": "perceptrón",
    "linear layer alone": "capa lineal sola",
    "parameters": "parámetros",
    "right, in %": "aciertos, en %",
    "of three splits": "en tres repartos",
    "digits and their patches": "dígitos y sus parches",
    "Above: test images, their patches, the digit and what the model says. "
    "Below: how much weight each patch gets on average from all patches.": (
        "Arriba: imágenes de prueba, sus parches, el dígito y lo que dice el modelo. "
        "Abajo: cuánto peso recibe cada parche, en promedio, de todos los parches."
    ),
    "the stack": "la pila de capas",
    "cosine between encoder layers": "coseno entre capas del codificador",
    "position codes": "códigos de posición",
    "Rows: positions 0 to 23. Columns: the first 48 channels.": (
        "Filas: posiciones 0 a 23. Columnas: los primeros 48 canales."
    ),
    "step": "paso",
    "written so far": "ya escrito",
    "what may follow": "lo que puede seguir",
    "decoder, looking back": "decodificador, mirando hacia atrás",
    "decoder, looking at the source": "decodificador, mirando el origen",
    "Rows: the piece that a step writes. Columns: the pieces read so far.": (
        "Filas: la pieza que escribe cada paso. Columnas: las piezas leídas hasta entonces."
    ),
    "Transformer": "Transformer",
    "GRU": "GRU",
    "pieces": "piezas",
    "recurrence: 8 steps": "recurrencia: 8 pasos",
    "attention: 1 step": "atención: 1 paso",
    "paths": "caminos",
    "milliseconds": "milisegundos",
    "seconds a pass": "segundos por pasada",
    "seconds of processor time": "segundos de procesador",
    "BLEU on development sentences after each pass.": (
        "BLEU en frases de desarrollo tras cada pasada."
    ),
}


def say(english: str, language: str) -> str:
    """Words of a figure in a language; a KeyError for those that nobody has translated."""
    return english if language == "en" else SPANISH[english]


def verdict(runners: Sequence[dict[str, Any]], language: str) -> str:
    """What the race of stop 12 says, and whether it says anything."""
    attention, recurrent = (
        next(runner for runner in runners if runner["name"] == name)
        for name in ("Transformer", "GRU")
    )
    scores = [runner["test"] for runner in (attention, recurrent)]
    apart = scores[0]["low"] > scores[1]["high"] or scores[1]["low"] > scores[0]["high"]
    values = {
        "n": len(attention["laps"]),
        "a": f"{scores[0]['value']:.1f}",
        "r": f"{scores[1]['value']:.1f}",
        "ratio": f"{recurrent['laps'][-1]['seconds'] / attention['laps'][-1]['seconds']:.2f}",
    }
    names = {
        "en": ("recurrent network", "Transformer"),
        "es": ("la red recurrente", "el Transformer"),
    }
    ahead = names[language][scores[0]["value"] > scores[1]["value"]]
    told = {
        "en": "After {n} passes the Transformer reaches {a} BLEU and the recurrent network {r}; a "
        "pass of the recurrent network takes {ratio} times as long. ",
        "es": "Tras {n} pasadas, el Transformer llega a {a} BLEU y la red recurrente a {r}; una "
        "pasada de la red recurrente dura {ratio} veces lo que una del Transformer. ",
    }[language].format(**values)
    verdicts = {
        "en": ("The intervals overlap: do not read much into the difference.",
               f"The intervals do not overlap: here the {ahead} translates better."),
        "es": ("Los intervalos se solapan: no conviene deducir mucho de la diferencia.",
               f"Los intervalos no se solapan: aquí traduce mejor {ahead}."),
    }  # fmt: skip
    return told + verdicts[language][apart]
