"""What is known of Ruby.

Classes and modules have their name as their value, blocks the line that made them.
"""

from __future__ import annotations

from ingest.runtimes.base import Runtime

_CLASS = {
    "": "{field} of {name}",
    "(constant)": "a constant of {name}",
    "(variable)": "a class-level variable of {name}",
    "(method)": "a method of {name}",
    "(internal)": "{name}",
    "(file)": "{name}",
    "<class>": "{name}",
    "<superclass>": "{name}",
}

RUBY = Runtime(
    name="ruby",
    program="a Ruby program",
    weak="",
    supertypes=("<superclass>",),
    unique_hashes=True,
    metadata=(
        "Class", "Module", "Refinement", "(imemo *)", "(iclass)", "(node)",
        "(data vm/*)", "(data objecttracing/*)", "(data tracepoint)", "RubyVM::*",
        "Method", "UnboundMethod", "Binding", "TracePoint",
        "ObjectSpace::InternalObjectWrapper",
        # Packages of which the program is made.
        "Gem::*Specification", "Bundler::*",
    ),
    variables_type="(imemo env)",
    top_class="Object",
    containers=(
        "Array", "Hash", "Set", "SortedSet", "Proc", "Enumerator", "Enumerator::*",
        "ObjectSpace::WeakMap", "ObjectSpace::WeakKeyMap", "WeakRef", "Struct",
        "(array)", "(hash)", "(struct)", "Thread", "Thread::*", "Queue", "SizedQueue",
        "Fiber", "Ractor", "Ractor::*", "Mutex", "Monitor", "Concurrent::*",
        "OpenStruct", "Delegator", "SimpleDelegator",
    ),
    library=(
        "String", "Symbol", "Regexp", "MatchData", "Integer", "Float", "Rational",
        "Complex", "Range", "Time", "Date", "DateTime", "Encoding", "Encoding::*",
        "NilClass", "TrueClass", "FalseClass", "Object", "BasicObject", "(*)",
        "IO", "IO::*", "File", "File::*", "Dir", "Random", "Random::*", "StringIO",
        "Exception", "*Error", "Interrupt", "SystemExit", "Errno::*", "Process::*",
        "BigDecimal", "Pathname", "URI::*", "Socket", "*Socket", "OpenSSL::*",
        "Zlib::*",
        "JSON::*", "YAML::*", "Psych::*", "Logger", "Logger::*", "Net::*", "ERB",
        "Digest::*", "ThreadGroup", "MonitorMixin::*", "ObjectSpace::*", "ARGF.class",
        "RbConfig::*", "ActiveSupport::*", "ActiveModel::*",
        "ActiveRecord::*", "ActionDispatch::*", "ActionController::*", "ActionView::*",
        "AbstractController::*", "Arel::*", "Rack::*", "Puma::*", "Sidekiq::*",
        "Zeitwerk::*", "I18n::*", "Mail::*", "Nokogiri::*", "Thor::*", "Rake::*",
        "ErrorHighlight::*", "DidYouMean::*", "SyntaxSuggest::*", "Monitor::*",
        "Gem::*",
    ),
    collections={"Array": "array", "Hash": "hash", "Set": "set"},
    # A dump has no names of threads, and does not tell their variables apart.
    holders={"Class": _CLASS, "Module": _CLASS, "Thread": {"": "a thread"}},
    weak_holders=("Thread",),
    function_type="Proc",
    freed_by=(
        (r"the Ruby virtual machine -> Ractor$", "end the threads"),
        (r"\(define_finalizer\) ->", "make the blocks of their finalizers where no "
            "variable has them, or call ObjectSpace.undefine_finalizer"),
    ),
    root_words={
        "internal": "the Ruby virtual machine",
        "static": "a global variable",
        "handle": "code in C",
        "local": "the stack of a thread",  # which is read word by word
        "runtime": "the Ruby virtual machine",
        # These are of objects in use, too: a block is held until its object is freed.
        "finalizer_queue": "the finalizers that are defined (define_finalizer)",
    },
    root_signs={
        "finalizer_queue": "The block of a finalizer is held until its object is "
            "freed, so it keeps for ever an object that it has captured.",
    },
    stack_of="Thread",
    patterns={"map": r"^Hash$|^Set$", "list": r"^Array$", "closure": r"^Proc$",
        "queue": r"Queue$"},
    limited_keys=("Class", "Module"),
    numbers=((r"#<(\w+):0x[0-9a-f]+>", r"#<\1>"),),
)  # fmt: skip
