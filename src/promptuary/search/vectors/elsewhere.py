"""What people say and ask about anywhere: a message that is nearer to this than to any text here is not about these.

A greeting, or a question about the rules of cricket, has a nearest text in every folder, too. How near that is by
chance depends on the folder, on the message and on the embedder; whether something else is nearer does not. So each
embedder embeds an outline of what is known and what is said in conversations once; its vectors are stored like those of
chunks.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from promptuary.base.concurrency import load_native
from promptuary.models.protocols import Embedder
from promptuary.search.index.port import Ahead, VectorStore
from promptuary.search.values import vector_space_id

TOPICS: Final = """\
baking bread and cakes
cooking meat, fish and vegetables
a recipe and its ingredients
wine, beer and other drinks
coffee and tea
cheese, milk and eggs
fruit, jam and preserves
restaurants and national dishes
growing vegetables and herbs in a garden
pruning trees and shrubs
houseplants and flowers
garden pests and weeds
keeping cats and dogs
pet reptiles, birds and fish
farm animals and bees
wild animals and birds
insects and spiders
sea life and whales
mushrooms and edible plants
forests and trees
cleaning stains and laundry
sewing, knitting and fabrics
plumbing, taps and heating
carpentry, wood and tools
painting and decorating a house
electrical wiring and appliances
buying and renting a home
landlords, tenants and rent
furniture and interior design
cars, engines and repairs
bicycles and tyres
trains and railway lines
ships, ferries and sailing
aeroplanes, airports and flights
traffic rules and driving licences
hiking trails and mountains
camping and the outdoors
passports, visas and borders
hotels and holidays
sights, castles and museums
islands and beaches
cities and capitals
rivers, lakes and seas
countries, population and maps
weather and climate
earthquakes, volcanoes and rocks
football and its rules
tennis, badminton and table tennis
cricket, baseball and hockey
rugby and American football
athletics and the Olympic Games
winter sports and skiing
cycling races and champions
boxing, wrestling and martial arts
golf, bowling and darts
swimming and water sports
horse riding and racing
fishing and hunting
fitness and exercise
board games and chess
card games and gambling
video games and consoles
toys and model building
magic, juggling and circus
painting, drawing and sculpture
photography and cameras
pottery, glass and crafts
origami and paper
architecture and buildings
music theory and notes
guitars and stringed instruments
piano, wind instruments and drums
singing, choirs and opera
songs, bands and concerts
dance and ballet
films, actors and directors
television and radio
theatre and plays
novels, poems and writers
comics and cartoons
fairy tales, myths and legends
languages, grammar and words
translation and spelling
dictionaries and libraries
schools and teachers
universities and degrees
ancient Egypt, Greece and Rome
the Middle Ages and knights
kings, queens and dynasties
wars, battles and treaties
revolutions and independence
explorers and discoveries
inventions and inventors
the two world wars
archaeology and wrecks
churches, saints and the Bible
Islam, Judaism and other religions
philosophy and ethics
festivals, customs and holidays
weddings, funerals and families
raising babies and children
love, friendship and dating
manners and etiquette
fashion, clothes and shoes
hair, skin and cosmetics
jewellery, gems and watches
diseases and symptoms
medicines and vaccines
doctors, hospitals and surgery
teeth and dentists
pregnancy and birth
nutrition, diets and vitamins
sleep and dreams
psychology and emotions
the human body and its organs
genes, cells and evolution
chemistry and chemical elements
physics, energy and forces
stars, planets and space travel
mathematics and geometry
statistics and probability
laws, courts and judges
wills and inheritance
crime, police and prisons
contracts and consumer rights
copyright and patents
taxes and duties
banks, loans and interest
shares and investments
insurance and pensions
wages, jobs and working hours
companies and their founders
advertising and marketing
shops, prices and discounts
post, parcels and delivery
factories and machines
metal, plastic and materials
oil, electricity and nuclear power
mines and gold
farming and harvests
waste and recycling
pollution and nature protection
elections and parliaments
presidents and prime ministers
armies and weapons
international organisations
fire, floods and emergencies
old computers and their programming
programming languages
websites and browsers
databases and SQL
operating systems and drivers
networks, routers and Wi-Fi
smartphones and apps
encryption, passwords and hackers
artificial intelligence
spreadsheets and office programs
electronics and circuits
robots and automation
printers and scanners
email and messages
social media and the internet
numbers, measures and units
calendars, clocks and time zones
flags, coins and stamps
names and their origins
jokes, riddles and proverbs
awards and records
"""
"""An outline of what people ask about. Changing it would change what is found to answer."""

SMALL_TALK: Final = """\
hello
good morning
good evening, nice to see you
I am back
are you there?
how are you?
what's up?
thank you
thanks a lot, that helped me very much
that is very kind of you
well done, you are the best
goodbye, see you tomorrow
good night, sleep well
have a nice weekend
merry Christmas and a happy new year
happy birthday to you
good luck
take care
yes, please
yes, exactly
okay, go ahead
I agree with you
no, thank you
no, not like that
stop, never mind
I don't think so
that is wrong
I am sorry, that was my mistake
oops, wrong window
no problem, don't worry
let me think about it
I don't know
I don't understand, what do you mean?
what a pity
that's great news
wow, wonderful
haha, that's funny
I am so tired today
I feel sad and lonely
I am happy and in a good mood
I am bored, tell me a joke
nice weather today, the sun is shining
it is raining outside
it's finally Friday
it has been a long day
I am having a cup of tea
I am going to lunch, back soon
please go on
continue where you stopped
try again
say that again, please
make it shorter
make it longer, with more details
explain it more simply
in simple words, for a child
write it more politely, in a friendly tone
less formal, please
translate that into another language
answer in English, please
write it as a list with numbers
use bullet points
put it into a table
leave out the headings and emojis
summarise the text above
only one paragraph
correct my sentence
rephrase that
give me another version
sort them by name
the first one, please
the second option is better
undo that
next
this is a test
"""
"""What people say to somebody who answers, and how they ask for another form of an answer."""


class Elsewhere:
    """The vectors of an embedder for all of this."""

    def __init__(self, topics: Sequence[bytes], small_talk: Sequence[bytes]) -> None:
        load_native("numpy")
        import numpy as np  # noqa: PLC0415  (100 ms, and only those who search by meaning need it)

        self._read = np.frombuffer
        self._topics, self._small_talk = (
            np.frombuffer(b"".join(every), "<f4").reshape(len(every), -1) for every in (topics, small_talk)
        )

    def ahead(self, near: float, vector: bytes) -> Ahead:
        """Return by how much a text that is so ``near`` to the vector of a query is nearer than what is elsewhere."""
        query = self._read(vector, "<f4")
        return Ahead(near - float((self._topics @ query).max()), near - float((self._small_talk @ query).max()))


def embed_elsewhere(store: VectorStore, embedder: Embedder) -> None:
    """Embed all of this with ``embedder``, unless that was done before."""
    space, texts = vector_space_id(embedder), _texts()
    if known_elsewhere(store, embedder) is None:
        store.put(space, dict(zip(texts, embedder.embed(list(texts.values()), "passage"), strict=True)))


def known_elsewhere(store: VectorStore, embedder: Embedder) -> Elsewhere | None:
    """Return the vectors of ``embedder`` for this; ``None`` if it has not embedded all of it."""
    space, keys = vector_space_id(embedder), elsewhere_hashes()
    if space not in _KNOWN and len(found := store.get(space, keys)) == len(keys):
        every = [found[key] for key in keys]
        _KNOWN[space] = Elsewhere(every[: len(_lines(TOPICS))], every[len(_lines(TOPICS)) :])
    return _KNOWN.get(space)


def elsewhere_hashes() -> list[str]:
    """Return the keys under which these vectors are stored."""
    return list(_texts())


@cache
def _texts() -> Mapping[str, str]:
    every = [f"topic {one}" for one in _lines(TOPICS)] + [f"said {one}" for one in _lines(SMALL_TALK)]
    return {hashlib.sha256(one.encode()).hexdigest(): one.partition(" ")[2] for one in every}


def _lines(texts: str) -> list[str]:
    return texts.splitlines()


_KNOWN: Final[dict[str, Elsewhere]] = {}
"""By embedder: the texts are the same everywhere, and a search should not read them each time."""
