extern "C" __global__ void scan() {}
