// variants.hpp — one scenario document as many scenarios: every combination of values at some keys.
//
// What `--vary /json/pointer=VALUE,VALUE…` asks for. A variant is read and checked like any
// scenario, so a value that no scenario may have is an InputError before anything runs; it names
// the pointer and the value. Values are JSON where they parse as JSON, else text, as with `--set`.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "records/varied_columns.hpp"
#include "scenarios/reader/scenario.hpp"

namespace ukemi::scenarios {

inline constexpr std::size_t variants_max = 10'000;

struct VariedKey {
    std::string pointer;
    std::vector<std::string> values;  // at least one, all different
};

// "/job/deadline=60h,70h". Commas within brackets, braces or quotes belong to a value.
VariedKey parse_varied_key(std::string_view argument);

// Reads a document with each combination, in the order of the values; the last key changes fastest.
// Without keys, as it is. What `read` complains of is said of the value that is to blame: it may be
// called with one value alone to find out.
using ReadVariant = std::function<void(std::span<const ConfigOverride> overrides,
                                       std::span<const records::VariedValue> varied)>;
void for_each_variant(std::span<const ConfigOverride> overrides, std::span<const VariedKey> keys,
                      const ReadVariant& read);

// Scenarios of a job on a market. The overrides hold for all of them.
std::vector<Scenario> variants_from_text(std::string_view text, const std::filesystem::path& file,
                                         std::span<const ConfigOverride> overrides,
                                         std::span<const VariedKey> keys);

using records::variant_label;

// The same complaint, with the variant that it is about; unchanged for what is no variant.
InputError about_variant(const InputError& error, std::span<const records::VariedValue> varied);

}  // namespace ukemi::scenarios
