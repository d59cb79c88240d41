// codec_kernels.cpp — operations by codec, and what one of them costs.
#include "sim/step/codec_kernels.hpp"

#include <algorithm>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

using kernels::CodecEntry;
using kernels::TensorShape;
using policies::Codec;

// The host, for one operation on tensors without gradients of their own: 6.2 us of one core
// (PyTorch 2.0.1 on tiny tensors, Xeon at 2.5 GHz, measured for this file: Gram-Schmidt 6.0 to
// 6.4 us a kernel at ranks 1 to 16, adding up a peer's share of top-k 5.1, error feedback 3.6) and
// 5 us for the launch (assumed, as in kernel_time.cpp). Measured on another CPU than anybody's.
constexpr double operation_s = 6.2e-6 + 5e-6;

// torch.topk with one block of threads, s × n log2 n: P100 25.6 ms for 2,000,000 elements (github
// pytorch/pytorch#22812); V100 4.997e-10 s, the constant of the same form in copies of github
// HKBU-HPML/OMGS-SGD's utils.py (Shi et al., INFOCOM 2020). Older GPUs as P100, newer as V100
// (assumed). With many blocks (PyTorch since March 2022): 0.135, 3.56 and 36.6 ms for 10^6, 10^8
// and 10^9 elements on H20 (github pytorch/pytorch#164459, PyTorch 2.6), that is 0.1 ms and
// 0.0365 ns an element at 4.0 TB/s (data sheet, unverified). GPUs since then are taken to have it.
// Since then, too, PyTorch takes a QR decomposition for Gram-Schmidt from rank 3 on
// (pytorch/pytorch#72043): 85 to 118 us for 256 to 4096 rows at ranks 2 to 8 (#76673, on a GPU that
// is not named), as long as ten operations.
constexpr double p100_comparison_s = 25.576e-3 / (2e6 * 20.93);
constexpr double v100_comparison_s = 4.997e-10;
constexpr double many_blocks_s = 0.1e-3;
constexpr double many_blocks_bytes = 0.0365e-9 * 4.0e12;  // of memory's traffic, an element
constexpr double qr_operations = 10;
constexpr std::string_view pytorch_1_12 = "2022-03";
constexpr std::string_view volta_since = "2017-06";

// Singular values on the host: 0.3179 s for ResNet-18's 11.2 million elements, a matrix's lesser
// side being 18 (a comment in epfml/powersgd's AtomoReducer), at 6 d · side operations each. Wider
// matrices get no more of them a second: torch.linalg.svd on one core here 2.0 to 2.4 G/s at 18,
// 2.8 at 64, 3.0 at 128, 2.0 at 256 and 2.3 at 512. That program reshapes kernels of 3 x 3 to a
// width of 18 first; this codec takes a tensor's matrix as it is (kernels/codecs/README.md).
constexpr double svd_operations_per_s = 6 * 11.17e6 * 18 / 0.3179;

// Operations on a tensor of d elements, and the values of four bytes that they move, in d.
struct Passes {
    double kernels = 0;
    double values = 0;
};
struct CodecPasses {
    Codec codec;
    Passes encode, decode, peer;  // of each tensor; `peer`: for each rank that sent a part
    Passes whole_encode, whole_decode, whole_peer;  // of what a message's tensors share
};
// Error feedback: gradient + rest and a copy (2, 5 d); then the rest and a copy.
constexpr CodecPasses table[] = {
    {Codec::none, {}, {}, {}, {}, {}, {}},
    // To halves, ÷ ranks; back.
    {Codec::fp16, {}, {}, {}, {2, 2.5}, {1, 1.5}, {}},
    // Norm, |g|, scale, floor, rest, draw, compare, cast, add, sign, multiply, cast; zero; cast,
    // two scales, add.
    {Codec::qsgd, {12, 24}, {1, 1}, {4, 8}, {}, {}, {}},
    {Codec::qsgd_shared, {12, 24}, {2, 3.5}, {}, {}, {}, {}},
    // |g|, largest, scale, draw, compare, sign, multiply, cast, pack; zero; unpack, scale, add.
    {Codec::terngrad, {9, 15}, {1, 1}, {3, 6}, {}, {}, {}},
    {Codec::terngrad_shared, {8, 14}, {2, 3.5}, {}, {}, {}, {}},
    // Copied back, and the rest forgotten; packed: join, sign, pad, cast, pack, cast; ones, unpack,
    // −1, sign, cast, cast, add.
    {Codec::sign, {1, 1}, {1, 2}, {}, {6, 9}, {1, 2}, {7, 11}},
    {Codec::sign_reduced, {1, 1}, {1, 2}, {}, {2, 3.5}, {2, 3.5}, {}},
    // Error feedback, norm and its copy; zero, two scales and the rest; packed as above; a peer's
    // norm: two divisions, its way to the host, added.
    {Codec::scaled_sign, {4, 6}, {6, 8}, {4, 3}, {6, 9}, {}, {6, 8}},
    // Error feedback, |g|, select, take, two copies, the rest and its zeros; zero; cast, take,
    // scale, add, put.
    {Codec::top_k, {10, 12}, {1, 1}, {5, 10}, {}, {}, {}},  // a peer's of what it keeps
    {Codec::top_k_agreed, {10, 12}, {3, 1}, {}, {}, {}, {}},
    // Error feedback, places, take, the rest and its zeros; scale, zero, put.
    {Codec::random_k, {6, 7}, {3, 1}, {}, {}, {}, {}},
    // Of a vector: error feedback; copied back. All vectors are joined, all products scaled.
    {Codec::power_sgd, {2, 5}, {1, 2}, {}, {1, 0}, {2, 0}, {}},
    {Codec::atomo, {}, {1, 1}, {}, {}, {}, {}},
};

static_assert(std::size(table) == policies::codec_count);  // each codec has its row

// Those whose rows have error feedback.
constexpr Codec rest_kept[] = {Codec::scaled_sign, Codec::top_k, Codec::top_k_agreed,
                               Codec::random_k, Codec::power_sgd};

const CodecPasses& passes_of(Codec codec) {
    const auto found = std::ranges::find(table, codec, &CodecPasses::codec);
    INVARIANT(found != std::end(table));
    return *found;
}

}  // namespace

bool keeps_rest(Codec codec) { return std::ranges::find(rest_kept, codec) != std::end(rest_kept); }

CodecClock::CodecClock(const GpuProfile& gpu, std::string_view where)
    : clock_(gpu, Precision::fp32, known_kernel_rates(gpu, where), where),
      comparison_s_(gpu.released < volta_since ? p100_comparison_s : v100_comparison_s) {
    if (gpu.released >= pytorch_1_12) {
        element_s_ = many_blocks_bytes / (gpu.memory_gb_per_s * 1e9);
    }
}

KernelSum CodecClock::passes(double kernels, double values) const {
    if (kernels == 0) return {};
    const KernelSum one = clock_.traffic(4 * values / kernels);
    return {one.device_s * kernels, static_cast<std::int64_t>(kernels), one.shared_s * kernels};
}

KernelSum CodecClock::selection(std::int64_t elements) const {
    const auto n = static_cast<double>(std::max<std::int64_t>(elements, 2));
    double seconds = comparison_s_ * n * exact::log(n) / exact::log(2);
    if (element_s_ > 0) seconds = std::min(seconds, many_blocks_s + element_s_ * n);
    return {seconds, 0, seconds};
}

// P = M Q, Gram-Schmidt, Q = Mᵀ P; then M' = P Qᵀ, the rest and its copy. A column is squared,
// summed, rooted, shifted and divided by; of those after it, the products are taken, summed,
// multiplied and subtracted.
CodecKernels CodecClock::power_sgd(double level, const TensorShape& shape) const {
    const auto rank = static_cast<std::int64_t>(
        std::min({level, static_cast<double>(shape.rows), static_cast<double>(shape.columns)}));
    const auto d = static_cast<double>(shape.elements());
    const auto r = static_cast<double>(rank);
    CodecKernels all{passes(2, 5 * d), passes(2, 5 * d)};
    all.encode += clock_.product({shape.rows, rank, shape.columns});
    const bool by_qr = element_s_ > 0 && rank > 2;
    all.encode +=
        passes(by_qr ? qr_operations : 9 * r - 4, 3 * static_cast<double>(shape.rows) * r * r);
    all.encode += clock_.product({shape.columns, rank, shape.rows});
    all.decode += clock_.product({shape.rows, shape.columns, rank});
    return all;
}

CodecKernels CodecClock::atomo(double level, const TensorShape& shape, int ranks) const {
    const std::int64_t lesser = std::min(shape.rows, shape.columns);
    const double d = static_cast<double>(shape.elements());
    const auto kept = std::min(static_cast<std::int64_t>(level), lesser);
    CodecKernels all{passes(8, 2 * d), passes(1, d)};
    const double svd_s = 6 * d * static_cast<double>(lesser) / svd_operations_per_s;
    all.encode += {svd_s, 0, svd_s};
    KernelSum peer = clock_.product({shape.rows, shape.columns, kept});
    peer += passes(2, 4 * d);
    all.decode += {peer.device_s * ranks, peer.launches * ranks, peer.shared_s * ranks};
    return all;
}

CodecKernels CodecClock::tensor(const CodecEntry& codec, double level, const TensorShape& shape,
                                int ranks) const {
    if (shape.elements() == 0) return {};
    const double meant = level == 0 ? codec.level_default : level;
    const std::int64_t bytes = codec.layout(meant, shape, ranks).message_bytes();
    const bool whole = bytes >= 4 * shape.elements();
    if (codec.kind == Codec::power_sgd && !whole) return power_sgd(meant, shape);
    if (codec.kind == Codec::atomo && !whole) return atomo(meant, shape, ranks);
    const CodecPasses& counted = passes_of(codec.kind);
    const auto d = static_cast<double>(shape.elements());
    CodecKernels all{passes(counted.encode.kernels, counted.encode.values * d),
                     passes(counted.decode.kernels, counted.decode.values * d)};
    if (codec.kind == Codec::top_k || codec.kind == Codec::top_k_agreed) {
        all.encode += selection(shape.elements());
    }
    const double part = codec.kind == Codec::top_k ? static_cast<double>(bytes) / 8 : d;
    all.decode += passes(counted.peer.kernels * ranks, counted.peer.values * ranks * part);
    return all;
}

CodecKernels CodecClock::message(const CodecEntry& codec, std::int64_t elements, int ranks) const {
    const CodecPasses& counted = passes_of(codec.kind);
    const auto d = static_cast<double>(elements);
    CodecKernels all{passes(counted.whole_encode.kernels, counted.whole_encode.values * d),
                     passes(counted.whole_decode.kernels, counted.whole_decode.values * d)};
    all.decode += passes(counted.whole_peer.kernels * ranks, counted.whole_peer.values * ranks * d);
    return all;
}

bool CodecClock::host_bound(const KernelSum& kernels) {
    return static_cast<double>(kernels.launches) * operation_s > kernels.device_s;
}

Duration CodecClock::time(const KernelSum& kernels) {
    return seconds(std::max(static_cast<double>(kernels.launches) * operation_s, kernels.device_s));
}

}  // namespace ukemi::sim
