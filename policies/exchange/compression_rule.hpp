// compression_rule.hpp — whether to compress gradients, with what and how much: a pure function of
// what was measured.
//
// A step takes compute + encode + the communication that the backward pass does not hide. A codec
// is worth it where it shortens that and its error stays within a bound; where nothing does, the
// answer is not to compress, and why. (Of more than 200 set-ups only six gained: Agarwal et al.,
// «On the Utility of Gradient Compression», arXiv:2103.00543.) Ranks, shares and codecs are options
// of one list, so «how much» is the same question as «what».
//
// `adaptive_codec` measures what this needs by trying each option.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/quantity.hpp"
#include "policies/plan.hpp"

namespace ukemi::policies {

struct CompressionOption {
    Codec codec = Codec::none;
    double level = 0;
    Duration encode;         // and decode, a step; none of it is hidden
    Duration communication;  // of its messages, with nothing else going on
    double relative_error = 0;  // ‖C(g) − g‖ ÷ ‖g‖ as measured; with error feedback, of g + kept
};

struct CompressedStep {
    Duration compute;
    Duration hideable;  // the part of it during which gradients can already travel
};

struct CompressionBounds {
    double relative_error_max = 1;
    double gain_min = 0.02;  // share of the step that must be saved: less is noise
};

enum class CompressionVerdict : std::uint8_t {
    hidden,     // communication already hides behind the backward pass
    hurts,      // no option makes a step shorter by enough
    too_lossy,  // only options beyond the error bound do
    pays,
};

struct CompressionChoice {
    CompressionVerdict verdict = CompressionVerdict::hidden;
    std::size_t option = 0;  // 0, which is not to compress, unless it pays
    Duration step;           // with this option
    Duration uncompressed;   // without compression
};

// The length of a step with this option.
Duration step_with(const CompressedStep& step, const CompressionOption& option);

// options[0] is no compression (Codec::none); of equally short ones the first is taken. An error
// that is not a number is beyond any bound.
CompressionChoice choose_compression(const CompressedStep& step,
                                     std::span<const CompressionOption> options,
                                     const CompressionBounds& bounds);

}  // namespace ukemi::policies
