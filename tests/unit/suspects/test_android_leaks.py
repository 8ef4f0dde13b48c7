"""First sentences for shapes of Android apps that public reports tell of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ingest.reports.suspects import next_step
from tests.dumps.hprof import BOOLEAN, INT, OBJECT, SYSTEM_CLASS
from tests.unit.suspects.test_evidence import graph_of
from tests.unit.suspects.test_java_leaks import Program

if TYPE_CHECKING:
    from pathlib import Path

_OBJECT = "java/lang/Object"
_ACTIVITY, _LRU = "android/app/Activity", "android/util/LruCache"


class App(Program):
    """An app with an activity, ``app.Page``."""

    def __init__(self) -> None:
        super().__init__()
        self._primitives(_ACTIVITY, _OBJECT, mDestroyed=BOOLEAN)
        self.cls("app/Page", "data", above=_ACTIVITY)
        self.cls("java/util/ArrayList", "elementData")

    def _primitives(self, name: str, above: str, **fields: int) -> None:
        self._class += 16
        self.dump.cls(name, self._class, above, fields)

    def page(self, size: int, *, is_destroyed: bool = True) -> int:
        data = self.data(size)
        at = self._next()
        return self.dump.obj(at, "app/Page", data=data, mDestroyed=is_destroyed)

    def list_of(self, items: list[int]) -> int:
        array = self.array("[Ljava/lang/Object;", items)
        return self.make("java/util/ArrayList", elementData=array)


def test_one_destroyed_activity_is_the_suspect_not_its_views(tmp_path: Path) -> None:
    app = App()
    app.cls("app/Screen", "views", above=_ACTIVITY)
    app.cls("app/Label", "text")
    app.cls("app/Tracker", "context")
    labels = [app.make("app/Label", text=app.data(500)) for _ in range(200)]
    at = app._next()
    app.dump.obj(at, "app/Screen", views=app.list_of(labels), mDestroyed=True)
    app.main(TRACKER=app.make("app/Tracker", context=at))
    (found,) = app.found(tmp_path).suspects

    assert found.sentence.startswith("One Screen (")
    assert "by Tracker.context, from static field Main.TRACKER." in found.sentence
    assert found.signs == ("It is destroyed, as the dump shows, and still held.",)
    assert found.cut == "Tracker.context -> Screen"


def test_destroyed_activities_are_named_not_their_listeners(tmp_path: Path) -> None:
    app = App()
    app.cls("app/Page$1", "this$0")
    pages = [app.page(4000) for _ in range(20)]
    listeners = [app.make("app/Page$1", **{"this$0": page}) for page in pages]
    app.main(LISTENERS=app.list_of(listeners))
    (found,) = app.found(tmp_path).suspects

    assert found.sentence.startswith("20 Page (")
    assert found.signs == ("All of them are destroyed, as the dump shows, and still "
        "held.",)  # fmt: skip
    assert found.cut == "static field Main.LISTENERS -> ArrayList"


def test_observers_are_to_be_removed_not_what_the_destroyed_have(
    tmp_path: Path,
) -> None:
    app, of = App(), "androidx/arch/core/internal/SafeIterableMap"
    app.cls("app/Screen", "items", above=_ACTIVITY)
    app.cls("app/Item", "photo")
    app.cls("androidx/lifecycle/LiveData", "mObservers")
    app.cls(f"{of}$Entry", "mKey", "mNext")
    app.cls(of, "mStart")
    following = 0
    for _ in range(10):
        items = [app.make("app/Item", photo=app.data(500)) for _ in range(9)]
        at = app._next()
        app.dump.obj(at, "app/Screen", items=app.list_of(items), mDestroyed=True)
        following = app.make(f"{of}$Entry", mKey=at, mNext=following)
    observers = app.make(of, mStart=following)
    app.main(CART=app.make("androidx/lifecycle/LiveData", mObservers=observers))
    (found,) = app.found(tmp_path).suspects

    assert found.sentence.startswith("10 Screen (")
    assert " with 90 Item in Screen.items " in found.sentence
    assert found.advice.startswith("To free them, remove the observers")
    assert "keep them" not in found.advice


def test_destroyed_activities_are_told_whose_fragments_have_their_views(
    tmp_path: Path,
) -> None:
    """The activities retain little themselves."""
    app = App()
    app.cls("app/Home", "views", above=_ACTIVITY)
    app.cls("app/Banners", "views", "activity")
    app.cls("android/os/Message", "callback", "next")
    following = 0
    for _ in range(6):
        views, at = app.data(6000), app._next()
        app.dump.obj(at, "app/Home", views=views, mDestroyed=True)
        banners = app.make("app/Banners", views=views, activity=at)
        following = app.make("android/os/Message", callback=banners, next=following)
    app.main(QUEUE=following)
    (found,) = app.found(tmp_path).suspects

    assert found.sentence.startswith("6 Banners (")
    assert found.signs == ("6 Home among what they hold are destroyed, as the dump "
        "shows, and still held.",)  # fmt: skip


def test_a_small_activity_that_is_destroyed_is_a_suspect(tmp_path: Path) -> None:
    app = App()
    app.cls("app/Model", "data")
    models = [app.make("app/Model", data=app.data(1000)) for _ in range(200)]
    app.main(MODELS=app.list_of(models), LAST=app.page(8000), NOW=0)
    first, _ = app.found(tmp_path).suspects

    assert first.sentence.startswith("One Page (")
    assert first.cut == "static field Main.LAST -> Page"


def test_an_activity_that_is_alive_is_none(tmp_path: Path) -> None:
    app = App()
    app.cls("app/Model", "data")
    models = [app.make("app/Model", data=app.data(1000)) for _ in range(200)]
    app.main(MODELS=app.list_of(models), NOW=app.page(8000, is_destroyed=False))
    (found,) = app.found(tmp_path).suspects

    assert found.sentence.startswith("200 Model (")


def test_messages_of_a_looper_are_a_queue(tmp_path: Path) -> None:
    app = App()
    app.cls("app/Splash$1", "this$0")
    app.cls("android/os/MessageQueue", "mMessages")
    app.cls("android/os/Message", "callback", "next")
    app.cls("android/os/Looper", "mQueue")
    message = 0
    for _ in range(15):
        task = app.make("app/Splash$1", **{"this$0": app.page(4000)})
        message = app.make("android/os/Message", callback=task, next=message)
    queue = app.make("android/os/MessageQueue", mMessages=message)
    app.main(LOOPER=app.make("android/os/Looper", mQueue=queue))
    (found,) = app.found(tmp_path).suspects

    assert found.sentence.startswith("15 Page (")
    assert "are held in a queue by Looper.mQueue, from" in found.sentence
    assert "remove the callbacks and messages (Handler." in found.advice
    assert found.advice.endswith(": Looper.mQueue -> MessageQueue.")


def test_a_converted_dump_of_android_is_not_of_a_jvm(tmp_path: Path) -> None:
    """Of its version only the classes tell."""
    app = App()
    app.cls("android/app/ActivityThread")
    app.main(DATA=app.data(500))
    graph = graph_of(app.dump, tmp_path)
    about = {name: getattr(graph, name) for name in ("runtime", "producer")}
    step = next_step({"format": "hprof", "incomplete": "", **about}, "x.hprof")

    assert graph.producer.startswith("Android Runtime, HPROF 1.0.")
    assert " another dump (adb shell am dumpheap) after " in step.text


def test_observers_of_live_data_are_in_a_map_of_it(tmp_path: Path) -> None:
    """Its entries refer to one another both ways."""
    map_ = "androidx/arch/core/internal/SafeIterableMap"
    app = App()
    app.cls("androidx/lifecycle/LiveData", "mObservers")
    app.cls(map_, "mStart", "mEnd")
    app.cls(f"{map_}$Entry", "mKey", "mNext", "mPrevious")
    app.cls("app/Chart", "data")
    places = [app._next() for _ in range(200)]
    for at, place in enumerate(places):
        app.dump.obj(
            place,
            f"{map_}$Entry",
            mKey=app.make("app/Chart", data=app.data(500)),
            mNext=places[at + 1] if at + 1 < len(places) else 0,
            mPrevious=places[at - 1] if at else 0,
        )
    observers = app.make(map_, mStart=places[0], mEnd=places[-1])
    app.main(PRICES=app.make("androidx/lifecycle/LiveData", mObservers=observers))
    (found,) = app.found(tmp_path).suspects

    assert found.sentence.startswith("200 Chart (")
    assert found.cut == "LiveData.mObservers -> SafeIterableMap"


@pytest.mark.parametrize("name", [_LRU, "app/Images$1"])
def test_a_cache_with_a_bound_says_so(name: str, tmp_path: Path) -> None:
    """Apps extend the class to tell the size of an entry."""
    app = App()
    app._class += 16
    app.dump.cls(_LRU, app._class, _OBJECT, {"map": OBJECT, "maxSize": INT})
    app.cls("app/Images$1", above=_LRU)
    app.cls("app/Image", "data")
    images = [app.make("app/Image", data=app.data(500)) for _ in range(200)]
    at = app._next()
    app.dump.obj(at, name, map=app.map_of(images), maxSize=200)
    app.main(IMAGES=at)
    (found,) = app.found(tmp_path).suspects

    assert found.sentence.startswith("200 Image (")
    assert "drops entries beyond its maxSize of 200" in "".join(
        found.doubts
    ) or found.doubts[0].startswith("LruCache has the name")


def test_pages_that_one_cut_frees_are_all_destroyed(tmp_path: Path) -> None:
    app = App()
    app.cls("app/Feed", "rows", "view")
    app.cls("android/view/View", "mContext")
    app.cls("app/Row", "data")
    feeds = []
    for _ in range(6):
        rows = [app.make("app/Row", data=app.data(100)) for _ in range(100)]
        view = app.make("android/view/View", mContext=app.page(20_000))
        feeds.append(app.make("app/Feed", rows=app.list_of(rows), view=view))
    app.main(FEEDS=app.list_of(feeds))
    found, *_ = app.found(tmp_path).suspects

    assert found.sentence.startswith("6 Page (")
    assert found.signs[0].startswith("All of them are destroyed")


def test_a_map_of_the_system_is_named_not_what_has_all(tmp_path: Path) -> None:
    """Each page is a key of it, and its receiver refers to the page, too."""
    app = App()
    app.cls("android/util/ArrayMap", "mArray")
    app.cls("android/app/LoadedApk", "mReceivers")
    app.cls("android/app/ActivityThread", "mLoaded")
    app.cls("app/Receiver", "owner")
    pairs = []
    for _ in range(40):
        page = app.page(4000)
        pairs += [page, app.make("app/Receiver", owner=page)]
    map_ = app.make(
        "android/util/ArrayMap", mArray=app.array("[Ljava/lang/Object;", pairs)
    )
    apk = app.make("android/app/LoadedApk", mReceivers=map_)
    app.cls(
        "android/app/Main", THREAD=app.make("android/app/ActivityThread", mLoaded=apk)
    )
    app.dump.root(SYSTEM_CLASS, app.dump.classes["android/app/Main"])
    (found,) = app.found(tmp_path).suspects

    assert found.sentence.startswith("40 Page (")
    assert found.cut == "LoadedApk.mReceivers -> ArrayMap"
