"""What readers import from ``collections``, where MicroPython has none or another."""

from collections import OrderedDict, namedtuple


class defaultdict(OrderedDict):
    def __init__(self, factory=None, *given):
        super().__init__(*given)
        self.default_factory = factory

    def __getitem__(self, key):
        if key not in self:
            if self.default_factory is None:
                raise KeyError(key)
            self[key] = self.default_factory()
        return self.get(key)


class Counter(OrderedDict):
    def __init__(self, items=()):
        super().__init__()
        self.update(items)

    def __getitem__(self, key):
        return self.get(key, 0)

    def update(self, items):
        for key in items:
            self[key] = self[key] + (items[key] if isinstance(items, dict) else 1)

    def most_common(self, count=None):
        pairs = sorted(self.items(), key=lambda pair: -pair[1])
        return pairs if count is None else pairs[:count]


class deque(list):
    def __init__(self, items=(), maxlen=None):
        super().__init__()
        self.maxlen = maxlen
        self.extend(items)

    def extend(self, items):
        for item in items:
            self.append(item)

    def append(self, item):
        super().append(item)
        if self.maxlen is not None and len(self) > self.maxlen:
            self.pop(0)

    def appendleft(self, item):
        self.insert(0, item)
        if self.maxlen is not None and len(self) > self.maxlen:
            self.pop()

    def popleft(self):
        return self.pop(0)
