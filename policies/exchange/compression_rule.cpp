// compression_rule.cpp — the least step among what is allowed.
#include "policies/exchange/compression_rule.hpp"

#include <algorithm>
#include <array>

#include "base/invariant.hpp"

namespace ukemi::policies {

Duration step_with(const CompressedStep& step, const CompressionOption& option) {
    const Duration exposed = std::max(option.communication - step.hideable, Duration{});
    return step.compute + option.encode + exposed;
}

CompressionChoice choose_compression(const CompressedStep& step,
                                     std::span<const CompressionOption> options,
                                     const CompressionBounds& bounds) {
    INVARIANT(!options.empty() && options.front().codec == Codec::none);
    CompressionChoice choice;
    choice.uncompressed = choice.step = step_with(step, options.front());
    if (options.front().communication <= step.hideable) return choice;
    choice.verdict = CompressionVerdict::hurts;
    const double most = (1 - bounds.gain_min) * to_seconds(choice.uncompressed);
    for (std::size_t i = 1; i < options.size(); ++i) {
        const Duration with = step_with(step, options[i]);
        if (to_seconds(with) > most || with >= choice.step) continue;
        if (!(options[i].relative_error <= bounds.relative_error_max)) {
            if (choice.option == 0) choice.verdict = CompressionVerdict::too_lossy;
            continue;
        }
        choice.verdict = CompressionVerdict::pays;
        choice.option = i;
        choice.step = with;
    }
    return choice;
}

}  // namespace ukemi::policies
