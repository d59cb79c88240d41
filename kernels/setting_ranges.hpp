// setting_ranges.hpp — what the numbers of a training may be: for who reads them in a scenario, for
// workers that are told, and for what is then built. What one of them accepts no other refuses.
#pragma once

#include <cstdint>

namespace ukemi::kernels {

struct SettingRange {
    double least = 0;
    double most = 0;
};
inline constexpr SettingRange momentum_range{0, 0.9999};  // of the optimiser and of averaging
inline constexpr SettingRange weight_decay_range{0, 1};
inline constexpr SettingRange averaging_rate_range{1e-6, 1};
inline constexpr SettingRange noise_smoothing_range{0, 0.99999};
inline constexpr std::int64_t bucket_bytes_most = std::int64_t{1} << 30;

inline constexpr std::int32_t mlp_layers_max = 16;  // hidden ones
inline constexpr std::int32_t mlp_units_max = 65'536;
inline constexpr std::int32_t image_filters_max = 1024;

}  // namespace ukemi::kernels
