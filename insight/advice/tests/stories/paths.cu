// One step of Floyd and Warshall: paths through node k. Threads store where a path becomes shorter.
extern "C" __global__ void paths(int *distance, int k, int n)
{
    int to = blockIdx.x * blockDim.x + threadIdx.x;
    int from = blockIdx.y;
    int first = distance[from * n + k];
    int through = first + distance[k * n + to];
    if (through < distance[from * n + to])
        distance[from * n + to] = through;
}
