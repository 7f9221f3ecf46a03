"""What people do: verb frames with the objects and places that suit them, and time adverbials.

A frame is one line, `Spanish|English|flags|objects|places`.

Flags: h habitual, o one-off, g one-off and rare (a house, a long journey), d can be in progress,
l can go on for hours, c can be done in company, s a state, n not a matter of will, x tied to a
time of day of its own, A for grown-ups, y for the young, T too trifling to be planned or told
about later. Objects are `determiner.class` tokens (see `phrases.objects`) or literals
`=Spanish/English` with `{}` for the possessive of the subject; `-` is none.
"""

from grammar.tables import pairs

FRAMES = """
comer|eat|hdc|i.fruit B.fruit b.food b.food b.fresh B.vegetable|rest home kitchen park
comer|eat|odc|m.fruit i.snack m.snack i.snack i.fruit|rest home kitchen park
beber|drink|hdc|b.drink|kitchen home cafe
beber|drink|odc|i.cup i.cup m.cup|kitchen cafe
desayunar|have breakfast|hdcx|-|home kitchen hotel cafe
almorzar|have lunch|hdcx|-|rest home office
cenar|have dinner|hdcx|-|rest home hotel
leer|read|hd|B.read B.read d.press B.press =poesía/poetry|lib home park train bed
leer|read|od|t.read g.read i.read q.read|home train
escribir|write|hd|B.write =cartas/letters =poesía/poetry|home office lib
escribir|write|od|i.write g.read =una canción/a song|home office
estudiar|study|hdlc|o.subject o.language o.language -|lib home univ
aprender|learn|dx|o.language =a nadar/to swim =a conducir/to drive =a cocinar/to cook|school
hablar con|talk to|hdl|H|street office park
hablar por|talk on|hdl|=teléfono/the phone|kitchen garden street
escuchar|listen to|hdl|=música/music =la radio/the radio =canciones antiguas/old songs|home room car
ver|watch|hdc|=la televisión/television =las noticias/the news =una serie/a series|home sofa room
ver|watch|odc|i.watch i.watch t.watch g.watch|home
ver|see|on|A|park street market station
cocinar|cook|hdc|b.meal b.meal =la cena/dinner =verduras/vegetables B.vegetable|home kitchen
preparar|make|hdx|=la cena/dinner =el desayuno/breakfast =la comida/lunch|home kitchen
preparar|prepare|odA|=la fiesta/the party i.gathering =la reunión/the meeting \
=el examen/for the exam|
comprar|buy|hd|b.food b.fresh B.fruit B.vegetable i.grocery =flores/flowers|market super
comprar|buy|o|i.clothes i.thing n.printed i.printed i.gift i.grocery n.fruit|mall store
comprar|buy|ogdA|i.vehicle i.home i.furniture|
vender|sell|ogdA|p.vehicle d.vehicle d.home i.furniture|
lavar|wash|hd|=el coche/the car D.dish =la ropa/the clothes =los platos/the dishes|
limpiar|clean|hd|d.room p.room D.fragile =la casa/the house|
ordenar|tidy up|hdx|p.room =la casa/the house =el escritorio/the desk|
tocar|play|hdl|I.instrument|home room school
jugar a|play|hdlc|L.sport L.sport =las cartas/cards|park school
jugar con|play with|hdl|=el perro/the dog =el gato/the cat =los niños/the children|garden park
nadar|swim|hdlc|-|pool lake river sea
correr|run|hdlc|-|park beach
caminar|walk|hdlc|-|park beach forest
bailar|dance|hdlc|-|party disco
cantar|sing|hdc|-|shower choir
cantar|sing|od|=una canción/a song =una canción triste/a sad song|school
dibujar|draw|hd|B.animal B.nature =mapas/maps|school
dibujar|draw|od|i.animal i.nature =un mapa/a map|school home
pintar|paint|odxA|d.room =la casa/the house =un cuadro/a picture =las paredes/the walls|
trabajar|work|hdlcA|-|bank factory hospital office home hotel rest
dormir|sleep|hdl|-|sofa room hotel tent
descansar|rest|hdl|-|sofa garden home beach
esperar|wait for|odl|A =el autobús/the bus =el tren/the train =un taxi/a taxi|station street
ayudar|help|hdx|A|kitchen garden
llamar|call|ho|AK|
visitar|visit|ho|AK|
visitar|visit|ogA|d.sight c.city k.country|
conocer|meet|on|AA|party train univ
cuidar|take care of|hdlA|=a los niños/the children \
=el jardín/the garden =a los animales/the animals|
invitar|invite|oA|AK|toparty
abrazar|hug|o|AK|
enseñar|teach|hdxA|o.subject o.language|school univ
viajar a|travel to|gcA|c.city k.country|
mudarse a|move to|gA|c.city =una casa nueva/a new house|
ir a|go to|hoc|d.place d.place =la playa/the beach|
ir de|go|hoc|=compras/shopping|
ir a|go|hox|=clase/to class =nadar/swimming =pescar/fishing|
salir|go out|hoc|-|
volver a|go back|ox|=casa/home =España/to Spain =la oficina/to the office|
perder|lose|on|p.lost p.lost p.lost|park street beach train
perder|miss|onx|=el autobús/the bus =el tren/the train =el avión/the plane =la clase/the class|
encontrar|find|on|p.lost p.lost i.lost|park street train
olvidar|forget|onx|p.lost|home train rest
romper|break|on|i.fragile d.fragile =la ventana/the window|
abrir|open|ox|d.opening D.opening|
cerrar|close|ox|d.opening d.opening =la tienda/the store|
encender|turn on|ox|=la luz/the light =la televisión/the TV =la radio/the radio|room
apagar|turn off|ox|=la luz/the light =la televisión/the TV =el ordenador/the computer|room
construir|build|gdA|=una casa/a house =una granja/a farm =un puente/a bridge =una escuela/a school|
reparar|fix|odA|p.vehicle d.vehicle =el tejado/the roof =la puerta/the door =la radio/the radio|
recibir|receive|on|i.mail i.mail n.mail|
enviar|send|o|i.mail i.mail n.mail =flores/flowers|
pagar|pay|oxA|=la cuenta/the bill =las facturas/the bills =el alquiler/the rent|
ganar|win|onx|=el partido/the game =el premio/the prize =la carrera/the race|
aprobar|pass|onxy|=el examen/the exam =el examen de conducir/the driving test|
asistir a|attend|oxA|d.gathering =clase/class|
organizar|organize|odxA|i.event =un concierto/a concert =una exposición/an exhibition|
hacer|do|hdxy|=los deberes/{} homework|home lib
hacer|make|odx|=un pastel/a cake =una lista/a list =café/coffee|kitchen
terminar|finish|oxA|=el trabajo/the work =el informe/the report t.read|
terminar|finish|oxy|=los deberes/{} homework|
cortar|cut|odx|=el pan/the bread =la tarta/the cake =las flores/the flowers|kitchen
coger|take|hox|=el autobús/the bus =un taxi/a taxi =el metro/the subway|
alquilar|rent|gA|i.vehicle =un apartamento/an apartment =una casa en la playa/a house by the sea|
ahorrar|save|hdx|=dinero/money =agua/water|
regar|water|hdx|=las plantas/the plants =las flores/the flowers =el jardín/the garden|
pasear a|walk|hdx|=los perros/the dogs =el perro/the dog|park beach
montar en|ride|hdx|=bicicleta/a bicycle|park street
sacar|take|hdx|=fotos/pictures =la basura/out the trash|
pedir|order|o|i.snack b.food i.cup m.snack|rest cafe
pedir|order|oA|b.alcohol b.fresh i.cup|rest
probar|try|ox|d.food d.fresh =un plato nuevo/a new dish =el vino/the wine|
explicar|explain|odx|=la lección/the lesson =el problema/the problem =las reglas/the rules \
=el plan/the plan|
entender|understand|snx|d.task =las reglas/the rules|
contestar|answer|ox|=la pregunta/the question =el teléfono/the phone =la carta/the letter|
resolver|solve|onx|=el problema/the problem =el misterio/the mystery =el ejercicio/the exercise|
mirar|look at|hdl|=las estrellas/the stars =el mar/the sea =las fotos/the photos =el mapa/the map|
buscar|look for|odlA|p.lost p.lost =trabajo/a job =un hotel/a hotel|
traducir|translate|odx|i.read =una carta/a letter =un poema/a poem|
plantar|plant|od|=un árbol/a tree =rosas/roses =tomates/tomatoes|garden
pescar|fish|hdlc|-|lake river
dar|take|hoc|=un paseo/a walk|park beach
quedarse|stay|ox|=en casa/at home =en un hotel/in a hotel =en la cama/in bed|
levantarse|get up|hxT|=temprano/early =tarde/late =muy temprano/very early|
acostarse|go to bed|hx|=temprano/early =tarde/late =muy tarde/very late|
despertarse|wake up|hxnT|=temprano/early =tarde/late|
ducharse|take a shower|hdxT|- =con agua fría/with cold water|
vestirse|get dressed|hdxT|-|room
lavarse|wash|hdxT|=las manos/{} hands =la cara/{} face =el pelo/{} hair|
cepillarse|brush|hdxT|=los dientes/{} teeth|
ponerse|put on|oxT|r.warm R.shoes|
quitarse|take off|oxT|r.warm R.shoes|
tener|have|sn|i.pet n.pet i.vehicle n.kin i.gift|
necesitar|need|s|i.thing i.clothes =ayuda/help =más tiempo/more time =dinero/money i.furniture|
querer|want|s|i.snack i.gift i.pet i.cup b.drink i.clothes|
vivir|live|slx|=en la ciudad/in the city =en el campo/in the country \
=en un piso pequeño/in a small apartment =cerca del mar/near the sea|
saber|know|sn|=la respuesta/the answer =la verdad/the truth =la dirección/the address|
""".replace("\\\n", "")

PLACES = {
    row.split("|")[0]: (row.split("|")[1], row.split("|")[2])
    for row in """
home|en casa|at home
kitchen|en la cocina|in the kitchen
rest|en un restaurante|in a restaurant
park|en el parque|in the park
cafe|en una cafetería|in a coffee shop
hotel|en un hotel|in a hotel
office|en la oficina|at the office
lib|en la biblioteca|in the library
train|en el tren|on the train
bed|en la cama|in bed
univ|en la universidad|at the university
school|en la escuela|at school
street|en la calle|on the street
garden|en el jardín|in the garden
room|en el dormitorio|in the bedroom
car|en el coche|in the car
sofa|en el sofá|on the sofa
market|en el mercado|at the market
super|en el supermercado|at the supermarket
mall|en el centro comercial|at the mall
store|en una tienda pequeña|in a small store
station|en la estación|at the station
pool|en la piscina|in the pool
lake|en el lago|in the lake
river|en el río|in the river
sea|en el mar|in the sea
beach|en la playa|on the beach
forest|en el bosque|in the forest
party|en la fiesta|at the party
disco|en la discoteca|at the club
shower|en la ducha|in the shower
choir|en un coro|in a choir
bank|en un banco|in a bank
factory|en una fábrica|in a factory
hospital|en el hospital|at the hospital
tent|en una tienda de campaña|in a tent
toparty|a la fiesta|to the party
""".strip().splitlines()
}


HABIT = pairs(
    "todos los días/every day,todas las semanas/every week,los fines de semana/on weekends,"
    "los lunes/on Mondays,los martes/on Tuesdays,los miércoles/on Wednesdays,"
    "los jueves/on Thursdays,los viernes/on Fridays,los sábados/on Saturdays,"
    "los domingos/on Sundays,dos veces por semana/twice a week,"
    "tres veces por semana/three times a week,casi todos los días/almost every day"
)
HABIT_DAYPART = pairs(
    "por la mañana/in the morning,por la tarde/in the afternoon,por la noche/at night,"
    "todas las mañanas/every morning,todas las tardes/every afternoon,todas las noches/every night"
)
OFTEN = pairs("siempre/always,a menudo/often,normalmente/usually,a veces/sometimes")
NEVER = pairs("nunca/never,casi nunca/hardly ever,rara vez/rarely")
PAST = pairs(
    "ayer/yesterday,anteayer/the day before yesterday,el lunes pasado/last Monday,"
    "el martes pasado/last Tuesday,el jueves pasado/last Thursday,el viernes pasado/last Friday,"
    "el sábado pasado/last Saturday,el domingo pasado/last Sunday,hace dos días/two days ago,"
    "hace tres días/three days ago,hace una semana/a week ago,la semana pasada/last week,"
    "el otro día/the other day"
)
PAST_NEAR = pairs(
    "ayer/yesterday,anteayer/the day before yesterday,el sábado pasado/last Saturday,"
    "el domingo pasado/last Sunday"
)
PAST_DENIED = pairs(
    "ayer/yesterday,anoche/last night,la semana pasada/last week,el lunes pasado/last Monday,"
    "el sábado pasado/last Saturday,esta mañana/this morning"
)
PAST_DAYPART = pairs(
    "anoche/last night,ayer por la mañana/yesterday morning,ayer por la tarde/yesterday afternoon,"
    "esta mañana/this morning"
)
PAST_RARE = pairs(
    "el año pasado/last year,el mes pasado/last month,hace tres años/three years ago,"
    "hace dos meses/two months ago,el verano pasado/last summer,hace un año/a year ago,"
    "hace mucho tiempo/a long time ago,en 2015/in 2015,en 1998/in 1998,en 2021/in 2021,"
    "en 2007/in 2007,hace diez años/ten years ago,la primavera pasada/last spring"
)
AHEAD = pairs(
    "mañana/tomorrow,pasado mañana/the day after tomorrow,la semana que viene/next week,"
    "el próximo lunes/next Monday,el próximo miércoles/next Wednesday,"
    "el próximo viernes/next Friday,el próximo sábado/next Saturday,el domingo/on Sunday,"
    "dentro de dos días/in two days,este fin de semana/this weekend"
)
AHEAD_DAYPART = pairs(
    "esta noche/tonight,esta tarde/this afternoon,mañana por la mañana/tomorrow morning,"
    "mañana por la tarde/tomorrow afternoon,mañana por la noche/tomorrow night"
)
AHEAD_RARE = pairs(
    "el año que viene/next year,el mes que viene/next month,dentro de dos años/in two years,"
    "el próximo verano/next summer,en agosto/in August,en diciembre/in December,"
    "dentro de unos meses/in a few months,algún día/someday"
)
NOW = pairs("ahora/now,ahora mismo/right now,en este momento/at the moment")
LATELY = pairs("hoy/today,esta semana/this week,este mes/this month,este año/this year")
LONG = pairs(
    "durante dos horas/for two hours,durante una hora/for an hour,toda la tarde/all afternoon,"
    "todo el día/all day,durante tres horas/for three hours,toda la mañana/all morning"
)
ONCE = pairs(
    "todos los veranos/every summer,todas las semanas/every week,"
    "los fines de semana/on weekends,los domingos/on Sundays,todos los días/every day"
)
