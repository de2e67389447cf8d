// A stage of a Runge-Kutta step for the Euler equations of an unstructured grid: the kernel of
// Rodinia's CFD solver that the thesis calls e3d-step.
//
// Five variables of an element (density, three of momentum, energy) lie in an array each, one array
// after the other, and advance by their flux times the element's step. The grid covers the elements,
// which the host fills up to a multiple of a block.

constexpr int STAGES = 3;
constexpr int VARIABLES = 5;

extern "C" __global__ void cfd_time_step(int stage, int elements, const float *old_variables,
                                         float *variables, const float *steps, const float *fluxes)
{
    const int element = blockIdx.x * blockDim.x + threadIdx.x;
    const float step = steps[element] / static_cast<float>(STAGES + 1 - stage);
#pragma unroll
    for (int variable = 0; variable < VARIABLES; ++variable) {
        const int place = variable * elements + element;
        variables[place] = old_variables[place] + step * fluxes[place];
    }
}
