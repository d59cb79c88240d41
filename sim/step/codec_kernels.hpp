// codec_kernels.hpp — which kernels a codec takes on a GPU, and how long they take.
//
// Counted from the programs whose step times are published: github epfml/powersgd,
// paper-code/gradient_reducers.py (PowerSGD, top-k, random blocks, sign with norm, ATOMO), which
// arXiv:2103.00543 measured, too, and the same style for what they do not have. Every operation of
// PyTorch is one kernel that the host launches, tensor by tensor, error feedback with it where the
// codec has it; what peers send is decoded peer by peer. So many small kernels take as long as the
// host needs to launch them: a codec takes the longer of host and device. Constants and their
// sources: codec_kernels.cpp. Nothing here is fitted to steps.
#pragma once

#include <string_view>

#include "base/quantity.hpp"
#include "kernels/codec.hpp"
#include "sim/cluster/kernel_time.hpp"

namespace ukemi::sim {

// Whether those programs keep what this codec has not sent (error feedback): a value of each
// parameter.
bool keeps_rest(policies::Codec codec);

struct CodecKernels {
    KernelSum encode;
    KernelSum decode;
};

class CodecClock {
public:
    // InputError(WHERE …) if nothing is known of this GPU's kernels.
    CodecClock(const GpuProfile& gpu, std::string_view where);

    // Of one tensor at a level that the codec has (0: its usual one).
    CodecKernels tensor(const kernels::CodecEntry& codec, double level,
                        const kernels::TensorShape& shape, int ranks) const;
    // What the tensors of a message share, which have so many elements.
    CodecKernels message(const kernels::CodecEntry& codec, std::int64_t elements, int ranks) const;

    // Launched by the host one after the other while the device works.
    static Duration time(const KernelSum& kernels);
    static bool host_bound(const KernelSum& kernels);

private:
    KernelSum passes(double kernels, double values) const;
    CodecKernels power_sgd(double level, const kernels::TensorShape& shape) const;
    CodecKernels atomo(double level, const kernels::TensorShape& shape, int ranks) const;
    KernelSum selection(std::int64_t elements) const;  // of the k largest

    KernelClock clock_;
    double comparison_s_ = 0;  // of one block's selection: this × n log2 n
    double element_s_ = 0;     // of many blocks' selection; 0: the library is older than that
};

}  // namespace ukemi::sim
