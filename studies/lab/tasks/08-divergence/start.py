from numba import cuda, float32


@cuda.jit(device=True)
def series(x):
    total = float32(0)
    for k in range(64):
        total = total * x + float32(0.5)
    return total


@cuda.jit(device=True)
def product(x):
    p = float32(1)
    for k in range(64):
        p *= float32(1) - x * x * float32(0.01)
    return p


# Even numbers of x get the sum of a series, odd ones a product: y[i] is f(x[i]) or g(x[i]).
@cuda.jit
def alternate(x, y, n):
    i = cuda.grid(1)
    if i < n:
        if i % 2 == 0:
            y[i] = series(x[i])
        else:
            y[i] = product(x[i])
