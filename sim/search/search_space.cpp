#include "sim/search/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/exact_math.hpp"
#include "base/quantity.hpp"
#include "base/rng.hpp"

namespace ukemi::sim {

namespace {

// In six digits, so that what is printed is what was trained.
std::string number_text(const SearchedKey& key, double value) {
    value = std::clamp(value, key.low, key.high);
    if (key.is_whole) return fmt::format("{}", round_nearest(value));
    return fmt::format("{:.6g}", value);
}

// `share` of the way from the lower to the upper end.
std::string in_range(const SearchedKey& key, double share) {
    if (!key.is_logarithmic) return number_text(key, key.low + share * (key.high - key.low));
    const double low = exact::log(key.low);
    return number_text(key, exact::exp(low + share * (exact::log(key.high) - low)));
}

std::string at_grid_point(const SearchedKey& key, std::size_t point) {
    if (!key.values.empty()) return key.values[point];
    const double last = static_cast<double>(std::max<std::size_t>(key.points, 2) - 1);
    return in_range(key, static_cast<double>(point) / last);
}

std::size_t points_of(const SearchedKey& key) {
    return key.values.empty() ? key.points : key.values.size();
}

}  // namespace

std::vector<TrialSettings> drawn_settings(const SearchSpace& space, std::size_t trials,
                                          std::uint64_t seed) {
    RandomStream random(seed, "search/trials");
    std::vector<TrialSettings> all(trials);
    for (TrialSettings& one : all) {
        for (const SearchedKey& key : space) {
            const auto most = static_cast<std::int64_t>(key.values.size()) - 1;
            one.push_back(key.values.empty()
                              ? in_range(key, random.uniform())
                              : key.values[static_cast<std::size_t>(random.integer(0, most))]);
        }
    }
    return all;
}

std::size_t grid_size(const SearchSpace& space) {
    std::size_t size = 1;
    for (const SearchedKey& key : space) size *= points_of(key);
    return size;
}

std::vector<TrialSettings> grid_settings(const SearchSpace& space) {
    std::vector<TrialSettings> all(grid_size(space), TrialSettings(space.size()));
    std::size_t repeats = 1;
    for (std::size_t i = space.size(); i-- > 0;) {
        const std::size_t points = points_of(space[i]);
        for (std::size_t at = 0; at < all.size(); ++at) {
            all[at][i] = at_grid_point(space[i], at / repeats % points);
        }
        repeats *= points;
    }
    return all;
}

TrialSettings explored_settings(const SearchSpace& space, const TrialSettings& from,
                                std::uint64_t seed, std::size_t trial, std::int64_t units) {
    RandomStream random(seed, fmt::format("search/explored/{}/{}", trial, units));
    TrialSettings result;
    for (std::size_t i = 0; i < space.size(); ++i) {
        const SearchedKey& key = space[i];
        const bool up = random.chance(0.5);
        if (key.values.empty()) {
            result.push_back(number_text(key, std::stod(from[i]) * (up ? 1.2 : 0.8)));
            continue;
        }
        const auto at = std::ranges::find(key.values, from[i]) - key.values.begin();
        const auto last = static_cast<std::ptrdiff_t>(key.values.size()) - 1;
        const std::ptrdiff_t next = std::clamp<std::ptrdiff_t>(at + (up ? 1 : -1), 0, last);
        result.push_back(key.values[static_cast<std::size_t>(next)]);
    }
    return result;
}

}  // namespace ukemi::sim
