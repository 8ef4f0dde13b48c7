"""What formats of the JVM and of Android's runtime share: references by strength."""

from __future__ import annotations

from ingest.heap.graph import RefKind

REFERENCE = "java.lang.ref.Reference"
WEAKER = ("referent", "discovered")
"""Fields of ``Reference`` that do not hold: by the second one the collector, while it
works, has a list of references to be cleared."""

REFERENT_KINDS = {
    "java.lang.ref.SoftReference": RefKind.SOFT,
    "java.lang.ref.WeakReference": RefKind.WEAK,
    "java.lang.ref.FinalReference": RefKind.FINALIZER,
    "java.lang.ref.FinalizerReference": RefKind.FINALIZER,  # Android's
    "java.lang.ref.PhantomReference": RefKind.PHANTOM,
}
"""How strong the referents of these classes, and of those below them, are held."""
