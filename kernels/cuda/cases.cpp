// cases.cpp — the table of kernels, and how results are compared.
#include "kernels/cuda/cases.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

#include "kernels/element_draws.hpp"

namespace ukemi::kernels::cuda {

using Made = std::unique_ptr<Case>;
using Gradient = std::span<const float>;
Made make_momentum_case(Gradient gradient);
Made make_learners_case(Gradient gradient);
Made make_central_case(Gradient gradient);
Made make_mean_case(Gradient gradient);
Made make_noise_step_case(Gradient gradient);
Made make_squared_norm_case(Gradient gradient);
Made make_fp16_case(Gradient gradient);
Made make_random_k_case(Gradient gradient);
Made make_top_k_case(Gradient gradient);
Made make_qsgd_case(Gradient gradient);
Made make_power_sgd_case(Gradient gradient);

std::span<const CaseEntry> all_cases() {
    static constexpr std::array table{
        CaseEntry{"momentum_step", "bits", make_momentum_case},
        CaseEntry{"averaged_learners (4)", "bits", make_learners_case},
        CaseEntry{"central_step", "bits", make_central_case},
        CaseEntry{"mean_of_replicas (4)", "bits", make_mean_case},
        CaseEntry{"noise_step (4)", "bits, norms to 1e-11", make_noise_step_case},
        CaseEntry{"squared_norm", "to 1e-11", make_squared_norm_case},
        CaseEntry{"fp16 there and back", "bits", make_fp16_case},
        CaseEntry{"random_k 1 %", "bits", make_random_k_case},
        CaseEntry{"top_k 1 %", "bits", make_top_k_case},
        CaseEntry{"qsgd 64 levels", "bits, norm to an ulp", make_qsgd_case},
        CaseEntry{"power_sgd rank 4", "to 1e-4", make_power_sgd_case},
    };
    return table;
}

std::string difference_of_bits(std::string_view what, std::span<const float> found,
                               std::span<const float> expected) {
    if (found.size() != expected.size()) {
        return fmt::format("{}: {} numbers, expected {}", what, found.size(), expected.size());
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
        if (std::bit_cast<std::uint32_t>(found[i]) != std::bit_cast<std::uint32_t>(expected[i])) {
            return fmt::format("{}[{}] is {:a}, expected {:a}", what, i, found[i], expected[i]);
        }
    }
    return {};
}

std::string difference_beyond(std::string_view what, std::span<const float> found,
                              std::span<const float> expected, double share) {
    if (found.size() != expected.size()) {
        return fmt::format("{}: {} numbers, expected {}", what, found.size(), expected.size());
    }
    double norm = 0;
    for (const float value : expected) {
        norm += static_cast<double>(value) * static_cast<double>(value);
    }
    const double usual =
        expected.empty() ? 0 : std::sqrt(norm / static_cast<double>(expected.size()));
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto right = static_cast<double>(expected[i]);
        const double off = std::abs(static_cast<double>(found[i]) - right);
        if (!(off <= share * (usual + std::abs(right)))) {
            return fmt::format("{}[{}] is {}, expected {} to {}", what, i, found[i], right, share);
        }
    }
    return {};
}

std::vector<float> made_gradient(std::string_view name, std::size_t count) {
    std::vector<float> values(count);
    const DrawKey key = key_of(1, name);
    for_each_draw(key, 0, count, [&](std::size_t i, std::uint32_t word) {
        // The sum of four uniform bytes is near enough to normal.
        const std::uint32_t sum =
            (word & 255U) + (word >> 8U & 255U) + (word >> 16U & 255U) + (word >> 24U);
        values[i] = (static_cast<float>(sum) - 510.0F) / 8192.0F;
    });
    for_each_draw(key, 1, count, [&](std::size_t i, std::uint32_t word) {
        if (word % 64 == 0)
            values[i] = std::ldexp(values[i], static_cast<int>(word >> 8U & 31U) - 28);
        if (word % 64 == 1) values[i] = word >> 31U != 0 ? 0.0F : -0.0F;
    });
    return values;
}

}  // namespace ukemi::kernels::cuda
