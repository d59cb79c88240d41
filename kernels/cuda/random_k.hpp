// random_k.hpp — random-k on the device: the same draws, places and bits as
// kernels/codecs/random_k.cpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/element_draws.hpp"

namespace ukemi::kernels::cuda {

struct RandomKPlaces {  // what decides the places of a step
    std::size_t elements = 0;
    std::size_t kept = 0;
    DrawKey key;
    std::uint64_t step = 0;
};

// out[k] = the element drawn from stratum k; `unbiased`: times the stratum's size.
cudaError_t launch_random_k_gather(const RandomKPlaces& places, bool unbiased,
                                   const float* gradient, float* out, cudaStream_t stream);
// mean = 0 but for the places: value ÷ divisor.
cudaError_t launch_random_k_spread(const RandomKPlaces& places, const float* values, float divisor,
                                   float* mean, cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
