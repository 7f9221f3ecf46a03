"""The vocabulary: nouns by class, adjectives by the nouns they suit, names, places, pastimes.

Words only: how they are inflected and put together is told elsewhere. Entries are separated by
commas. A noun is `Spanish gender English`, with underscores for blanks inside a term; gender `a`
is a feminine noun that takes 'el' in the singular (el agua). Irregular plurals of kinship terms
are spelled out after a slash.
"""

from grammar.tables import both, pairs, words

NOUNS = {
    "fruit": "manzana f apple, naranja f orange, plátano m banana, pera f pear, "
    "melocotón m peach, fresa f strawberry, cereza f cherry",
    "vegetable": "tomate m tomato, zanahoria f carrot, cebolla f onion, patata f potato, "
    "pepino m cucumber, pimiento m pepper",
    "snack": "huevo m egg, galleta f cookie, bocadillo m sandwich, pastel m cake, "
    "helado m ice_cream, hamburguesa f hamburger, ensalada f salad, pizza f pizza, "
    "tortilla f omelet",
    "fresh": "pan m bread, queso m cheese, pescado m fish, carne f meat, fruta f fruit",
    "food": "arroz m rice, pollo m chicken, sopa f soup, pasta f pasta, "
    "chocolate m chocolate, jamón m ham, yogur m yogurt, pan m bread, queso m cheese",
    "drink": "agua a water, leche f milk, café m coffee, té m tea, zumo_de_naranja m orange_juice, "
    "limonada f lemonade, chocolate_caliente m hot_chocolate",
    "alcohol": "vino m wine, cerveza f beer, vino_tinto m red_wine, sidra f cider",
    "cup": "vaso_de_agua m glass_of_water, vaso_de_leche m glass_of_milk, "
    "taza_de_café f cup_of_coffee, taza_de_té f cup_of_tea, "
    "botella_de_agua f bottle_of_water",
    "grocery": "kilo_de_tomates m kilo_of_tomatoes, kilo_de_patatas m kilo_of_potatoes, "
    "botella_de_aceite f bottle_of_oil, caja_de_galletas f box_of_cookies, "
    "barra_de_pan f loaf_of_bread, cartón_de_huevos m carton_of_eggs, "
    "bolsa_de_arroz f bag_of_rice, "
    "litro_de_leche m liter_of_milk",
    "clothes": "camisa f shirt, falda f skirt, vestido m dress, abrigo m coat, chaqueta f jacket, "
    "sombrero m hat, bufanda f scarf, jersey m sweater, gorra f cap, camiseta f T-shirt, "
    "corbata f tie, traje m suit, cinturón m belt, blusa f blouse",
    "warm": "abrigo m coat, chaqueta f jacket, sombrero m hat, bufanda f scarf, jersey m sweater, "
    "gorra f cap, camisa f shirt, camiseta f T-shirt, cinturón m belt",
    "shoes": "zapato m shoe, bota f boot, guante m glove, calcetín m sock, sandalia f sandal",
    "read": "libro m book, novela f novel, cuento m story, artículo m article, poema m poem",
    "meal": "arroz m rice, pollo m chicken, sopa f soup, pasta f pasta, pescado m fish, "
    "carne f meat",
    "printed": "libro m book, novela f novel, diccionario m dictionary, revista f magazine",
    "mail": "carta f letter, paquete m package, mensaje m message, regalo m gift, "
    "postal f postcard, correo m email",
    "press": "periódico m newspaper, revista f magazine",
    "write": "carta f letter, poema m poem, cuento m story, informe m report, artículo m article, "
    "correo m email, libro m book, mensaje m message",
    "watch": "película f movie, documental m documentary, comedia f comedy, partido m game, "
    "programa m show",
    "thing": "llave f key, bolígrafo m pen, cuaderno m notebook, mochila f backpack, "
    "paraguas m umbrella, reloj m watch, teléfono m phone, cartera f wallet, maleta f suitcase, "
    "bolso m handbag, cámara f camera, anillo m ring, ordenador m computer, lápiz m pencil, "
    "diccionario m dictionary, tarjeta f card, mapa m map, cuchillo m knife, vela f candle, "
    "linterna f flashlight, cepillo m brush",
    "lost": "llave f key, cartera f wallet, maleta f suitcase, teléfono m phone, anillo m ring, "
    "reloj m watch, paraguas m umbrella, bolsa f bag, cámara f camera, mochila f backpack, "
    "pasaporte m passport, billete m ticket, bufanda f scarf",
    "fragile": "vaso m glass, plato m plate, taza f cup, espejo m mirror, "
    "botella f bottle, lámpara f lamp, silla f chair, guitarra f guitar, juguete m toy",
    "loan": "libro m book, paraguas m umbrella, cámara f camera, diccionario m dictionary, "
    "bicicleta f bicycle, bolígrafo m pen, mapa m map, guitarra f guitar, coche m car, "
    "maleta f suitcase, calculadora f calculator",
    "gift": "libro m book, reloj m watch, anillo m ring, juguete m toy, flor f flower, "
    "pulsera f bracelet, camiseta f T-shirt, cámara f camera, guitarra f guitar, "
    "bicicleta f bicycle, foto f photo, postal f postcard, caja_de_bombones f box_of_chocolates, "
    "muñeca f doll, perfume m perfume",
    "vehicle": "coche m car, bicicleta f bicycle, moto f motorcycle, camión m truck, barco m boat, "
    "furgoneta f van",
    "home": "casa f house, apartamento m apartment, tienda f store, granja f farm",
    "furniture": "mesa f table, silla f chair, cama f bed, sofá m sofa, armario m wardrobe, "
    "lámpara f lamp, estantería f bookshelf, espejo m mirror, alfombra f rug, escritorio m desk",
    "opening": "puerta f door, ventana f window, caja f box, maleta f suitcase, cajón m drawer, "
    "botella f bottle, paquete m package",
    "dish": "plato m plate, vaso m glass, taza f cup, camisa f shirt, cortina f curtain, "
    "toalla f towel, sábana f sheet",
    "room": "cocina f kitchen, baño m bathroom, dormitorio m bedroom, salón m living_room, "
    "habitación f room, garaje m garage, oficina f office, jardín m garden, terraza f terrace",
    "place": "parque m park, playa f beach, mercado m market, biblioteca f library, "
    "museo m museum, "
    "teatro m theater, hospital m hospital, banco m bank, estación f station, "
    "aeropuerto m airport, oficina f office, restaurante m restaurant, supermercado m supermarket, "
    "universidad f university, farmacia f pharmacy, piscina f swimming_pool, gimnasio m gym, "
    "panadería f bakery, iglesia f church, estadio m stadium, librería f bookstore, hotel m hotel, "
    "castillo m castle, centro_comercial m shopping_mall, zoológico m zoo, plaza f square, "
    "cafetería f coffee_shop, zapatería f shoe_store, comisaría f police_station",
    "sight": "castillo m castle, museo m museum, catedral f cathedral, palacio m palace, "
    "jardín m garden, isla f island, puente m bridge, torre f tower, playa f beach",
    "building": "edificio m building, hotel m hotel, hospital m hospital, puente m bridge, "
    "escuela f school, torre f tower, castillo m castle, museo m museum",
    "nature": "montaña f mountain, río m river, lago m lake, bosque m forest, árbol m tree, "
    "flor f flower, estrella f star, nube f cloud, isla f island, valle m valley",
    "animal": "perro m dog, gato m cat, caballo m horse, pájaro m bird, vaca f cow, oveja f sheep, "
    "gallina f hen, conejo m rabbit, ratón m mouse, pez m fish, cerdo m pig, burro m donkey, "
    "pato m duck, mono m monkey, elefante m elephant, león m lion, tigre m tiger, oso m bear, "
    "serpiente f snake, tortuga f turtle, loro m parrot, águila a eagle, lobo m wolf",
    "pet": "perro m dog, gato m cat, conejo m rabbit, pájaro m bird, tortuga f turtle, "
    "caballo m horse, loro m parrot",
    "gathering": "fiesta f party, boda f wedding, reunión f meeting, concierto m concert, "
    "conferencia f lecture",
    "mendable": "silla f chair, lámpara f lamp, ventana f window, juguete m toy, "
    "guitarra f guitar, "
    "bicicleta f bicycle, puerta f door",
    "event": "fiesta f party, boda f wedding, reunión f meeting, cena f dinner, viaje m trip, "
    "concierto m concert, excursión f excursion",
    "task": "trabajo m job, examen m exam, ejercicio m exercise, pregunta f question, "
    "problema m problem, tarea f task, lección f lesson, idea f idea, plan m plan",
    "subject": "matemáticas f math, historia f history, biología f biology, física f physics, "
    "química f chemistry, medicina f medicine, economía f economics, derecho m law, "
    "arte m art, geografía f geography",
    "language": "inglés m English, español m Spanish, francés m French, alemán m German, "
    "italiano m Italian, portugués m Portuguese, chino m Chinese, japonés m Japanese, "
    "ruso m Russian, árabe m Arabic",
    "instrument": "guitarra f guitar, piano m piano, violín m violin, flauta f flute, "
    "trompeta f trumpet, arpa a harp",
    "sport": "fútbol m soccer, tenis m tennis, baloncesto m basketball, ajedrez m chess, "
    "voleibol m volleyball, golf m golf",
    "body": "cabeza f head, mano f hand, espalda f back, pierna f leg, rodilla f knee, "
    "brazo m arm, "
    "pie m foot, estómago m stomach, garganta f throat",
    "kin": "hermano m brother, hermana f sister, hijo m son/children, hija f daughter, "
    "abuelo m grandfather/grandparents, abuela f grandmother, padre m father/parents, "
    "madre f mother, tío m uncle, tía f aunt, primo m cousin, prima f cousin, amigo m friend, "
    "amiga f friend, vecino m neighbor, vecina f neighbor, jefe m boss, compañero m classmate, "
    "nieto m grandson/grandchildren, nieta f granddaughter",
    "job": "médico m doctor, profesor m teacher, abogado m lawyer, enfermero m nurse, "
    "ingeniero m engineer, cocinero m cook, camarero m waiter, periodista m journalist, "
    "escritor m writer, músico m musician, actor m actor, policía m police_officer, "
    "bombero m firefighter, carpintero m carpenter, panadero m baker, dentista m dentist, "
    "veterinario m vet, mecánico m mechanic, agricultor m farmer, arquitecto m architect, "
    "pintor m painter, científico m scientist, secretario m secretary, taxista m taxi_driver, "
    "farmacéutico m pharmacist, peluquero m hairdresser, programador m programmer, "
    "fotógrafo m photographer, traductor m translator, estudiante m student",
    "jobf": "médica f doctor, profesora f teacher, abogada f lawyer, enfermera f nurse, "
    "ingeniera f engineer, cocinera f cook, camarera f waitress, periodista f journalist, "
    "escritora f writer, música f musician, actriz f actress, bombera f firefighter, "
    "dentista f dentist, veterinaria f vet, arquitecta f architect, pintora f painter, "
    "científica f scientist, secretaria f secretary, farmacéutica f pharmacist, "
    "peluquera f hairdresser, programadora f programmer, fotógrafa f photographer, "
    "traductora f translator, estudiante f student",
    "folk": "chico m boy, chica f girl, hombre m man, mujer f woman, niña f girl, "
    "niño m boy/children, "
    "médico m doctor, profesora f teacher, profesor m teacher, estudiante m student, "
    "turista m tourist, camarero m waiter, policía m police_officer, anciano m old_man/old_people, "
    "alumno m student, cliente m customer, enfermera f nurse, abogada f lawyer, cartero m mailman, "
    "panadero m baker, mecánico m mechanic, escritora f writer",
}

ADJECTIVES = dict(
    pairs(
        "rojo/red,azul/blue,verde/green,negro/black,blanco/white,amarillo/yellow,gris/gray,"
        "marrón/brown,nuevo/new,viejo/old,antiguo/old,bonito/pretty,elegante/elegant,"
        "caro/expensive,barato/cheap,cómodo/comfortable,fresco/fresh,dulce/sweet,maduro/ripe,"
        "grande/big,pequeño/small,rápido/fast,joven/young,alto/tall,bajo/short,simpático/nice,"
        "amable/kind,inteligente/smart,trabajador/hardworking,interesante/interesting,"
        "aburrido/boring,divertido/funny,entretenido/entertaining,largo/long,corto/short,"
        "triste/sad,famoso/famous,moderno/modern,hermoso/beautiful,tranquilo/quiet,"
        "difícil/difficult,fácil/easy,importante/important,peligroso/dangerous,fuerte/strong,"
        "limpio/clean,sucio/dirty,ruidoso/noisy,rico/rich,caliente/hot,frío/cold,útil/useful,"
        "pesado/heavy,lento/slow,profundo/deep,ancho/wide,serio/serious,tímido/shy,"
        "paciente/patient,generoso/generous,feliz/happy,cansado/tired,enfermo/sick,"
        "contento/happy,preocupado/worried,ocupado/busy,nervioso/nervous,enfadado/angry,"
        "listo/ready,roto/broken,abierto/open,cerrado/closed,lleno/full,vacío/empty,"
        "orgulloso/proud,delicioso/delicious,salado/salty,oscuro/dark,luminoso/bright,"
        "salvaje/wild,increíble/incredible,verdadero/true,guapo/handsome,delgado/thin,"
        "débil/weak,educado/polite,valiente/brave,alegre/cheerful,emocionante/exciting,"
        "redondo/round,misterioso/mysterious,silencioso/quiet,sano/healthy"
    )
)

SUITS = {
    "fruit": "fresco dulce maduro grande pequeño",
    "snack": "grande pequeño delicioso",
    "food": "",
    "fresh": "fresco",
    "vegetable": "fresco grande pequeño",
    "printed": "interesante nuevo",
    "clothes": "rojo azul verde negro blanco amarillo gris nuevo bonito elegante caro barato",
    "warm": "rojo azul verde negro gris nuevo",
    "shoes": "rojo negro blanco marrón nuevo cómodo caro",
    "read": "interesante nuevo largo corto divertido",
    "press": "interesante",
    "write": "largo corto interesante",
    "watch": "interesante aburrido entretenido",
    "thing": "nuevo pequeño rojo negro azul amarillo",
    "lost": "nuevo viejo negro rojo",
    "fragile": "nuevo viejo grande pequeño",
    "gift": "bonito nuevo pequeño",
    "vehicle": "nuevo viejo rojo blanco negro rápido caro azul",
    "home": "grande pequeño blanco antiguo nuevo bonito",
    "furniture": "grande pequeño nuevo blanco",
    "opening": "grande pequeño",
    "room": "grande pequeño",
    "place": "",
    "sight": "antiguo hermoso famoso",
    "building": "alto nuevo antiguo moderno grande",
    "nature": "hermoso grande",
    "animal": "grande pequeño blanco negro viejo hermoso",
    "pet": "grande pequeño blanco negro viejo",
    "event": "",
    "task": "difícil fácil importante interesante nuevo",
    "folk": "alto simpático joven amable inteligente",
    "job": "joven famoso simpático paciente trabajador",
    "jobf": "joven famoso simpático paciente trabajador",
    "kin": "",
}

MEN = words(
    "Juan Pedro Luis Carlos Miguel Jorge Pablo Andrés Diego Javier Antonio Mateo Tomás Daniel "
    "Alejandro David Fernando Rafael Manuel Sergio"
)
WOMEN = words(
    "Ana María Lucía Carmen Elena Isabel Laura Marta Sofía Rosa Paula Julia Teresa Clara "
    "Irene Beatriz Inés Eva Raquel Silvia"
)
SURNAMES = words("García López Martínez Sánchez Romero Torres Ruiz Ortega Molina Herrera")

CITIES = both(
    "Madrid,Barcelona,Sevilla/Seville,Londres/London,París/Paris,Roma/Rome,Lisboa/Lisbon,"
    "Nueva York/New York,Buenos Aires,Lima,Bogotá,Ciudad de México/Mexico City,Berlín/Berlin,"
    "Atenas/Athens,Viena/Vienna,Moscú/Moscow,Tokio/Tokyo,Valencia,Granada,Toledo,Santiago,"
    "Quito,Caracas,Florencia/Florence,Ginebra/Geneva,Bruselas/Brussels"
)
COUNTRIES = both(
    "España/Spain,Francia/France,Italia/Italy,Alemania/Germany,Portugal,México/Mexico,"
    "Perú/Peru,Chile,Argentina,Colombia,Cuba,Brasil/Brazil,Canadá/Canada,Japón/Japan,China,"
    "Grecia/Greece,Suecia/Sweden,Irlanda/Ireland,Egipto/Egypt,Marruecos/Morocco,"
    "Inglaterra/England,Suiza/Switzerland,Bolivia,Uruguay,Noruega/Norway,Polonia/Poland"
)
NATIONS = pairs(
    "español/Spanish,francés/French,alemán/German,inglés/English,italiano/Italian,"
    "portugués/Portuguese,mexicano/Mexican,peruano/Peruvian,argentino/Argentinian,"
    "chileno/Chilean,colombiano/Colombian,japonés/Japanese,chino/Chinese,ruso/Russian,"
    "griego/Greek,irlandés/Irish,polaco/Polish,sueco/Swedish,estadounidense/American,"
    "canadiense/Canadian"
)
CAPITALS = [
    ("Madrid/Madrid", "España/Spain"), ("París/Paris", "Francia/France"),
    ("Roma/Rome", "Italia/Italy"), ("Lisboa/Lisbon", "Portugal/Portugal"),
    ("Berlín/Berlin", "Alemania/Germany"), ("Londres/London", "Inglaterra/England"),
    ("Atenas/Athens", "Grecia/Greece"), ("Lima/Lima", "Perú/Peru"),
    ("Bogotá/Bogotá", "Colombia/Colombia"), ("Buenos Aires/Buenos Aires", "Argentina/Argentina"),
    ("Quito/Quito", "Ecuador/Ecuador"), ("Tokio/Tokyo", "Japón/Japan"),
    ("Ottawa/Ottawa", "Canadá/Canada"), ("Viena/Vienna", "Austria/Austria"),
    ("Moscú/Moscow", "Rusia/Russia"), ("Oslo/Oslo", "Noruega/Norway"),
    ("Varsovia/Warsaw", "Polonia/Poland"), ("El Cairo/Cairo", "Egipto/Egypt"),
    ("Dublín/Dublin", "Irlanda/Ireland"), ("Caracas/Caracas", "Venezuela/Venezuela"),
]  # fmt: skip

DAYS = pairs(
    "lunes/Monday,martes/Tuesday,miércoles/Wednesday,jueves/Thursday,viernes/Friday,"
    "sábado/Saturday,domingo/Sunday"
)
MONTHS = pairs(
    "enero/January,febrero/February,marzo/March,abril/April,mayo/May,junio/June,julio/July,"
    "agosto/August,septiembre/September,octubre/October,noviembre/November,diciembre/December"
)
ORDINALS = pairs(
    "primer/first,segundo/second,tercer/third,cuarto/fourth,quinto/fifth,sexto/sixth,"
    "séptimo/seventh,octavo/eighth,noveno/ninth,décimo/tenth"
)
