import os

WORK = int(os.environ["WORK"])


def test_sum(benchmark):
    benchmark(lambda: sum(i * i for i in range(WORK * 10)))


def test_dict(benchmark):
    benchmark(lambda: {str(i): i for i in range(WORK * 5)})


def test_sort(benchmark):
    numbers = [(i * 7919) % 1009 for i in range(WORK * 10)]
    benchmark(lambda: sorted(numbers))
