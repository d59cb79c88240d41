// codec.cpp — the codecs of codec_table.def: their functions declared, and their table.
#include "kernels/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/plain_text.hpp"
#include "kernels/codecs/wire.hpp"

namespace ukemi::kernels {

using Made = std::unique_ptr<TensorCodec>;
#define CODEC(name, ...)                                                          \
    CodecLayout name##_layout(double level, const TensorShape& shape, int ranks); \
    Made make_##name(const CodecSettings& settings, const CodecMember& member);
#include "policies/codec_table.def"
#undef CODEC

namespace {

struct Level {
    std::string_view means;
    double usual = 0;
    double min = 0;
    double max = 0;
    bool whole = false;
};
constexpr Level share{"share of the elements that is kept", 0.01, 1e-6, 1, false};
constexpr Level deviations{"standard deviations to clip at, 0: none", 0, 0, 1000, false};

constexpr CodecEntry entry(std::string_view name, policies::Codec kind, bool unbiased,
                           bool contracts, std::string_view source, Level level,
                           CodecLayout (*layout)(double, const TensorShape&, int),
                           Made (*make)(const CodecSettings&, const CodecMember&)) {
    return {name,        kind,     level.means, level.usual, level.min, level.max,
            level.whole, unbiased, contracts,   source,      layout,    make};
}

constexpr bool unbiased = true;
constexpr bool contracts = true;
#define CODEC(name, number, unbiased, contracts, source, ...)                            \
    entry(#name, policies::Codec::name, unbiased, contracts, source, Level{__VA_ARGS__}, \
          name##_layout, make_##name),
constexpr std::array codec_table{
#include "policies/codec_table.def"
};
#undef CODEC

const CodecEntry& entry_of(std::string_view name) {
    if (const CodecEntry* found = find_codec(name)) return *found;
    std::vector<std::string_view> known;
    for (const CodecEntry& each : codec_table) known.push_back(each.name);
    throw InputError("codec", "/name",
                     fmt::format("no codec {}{}", ukemi::quoted(name), did_you_mean(name, known)));
}

std::string level_refusal(const CodecEntry& entry, double level) {
    if (level == 0) return {};
    if (entry.level.empty()) return fmt::format("{} has no level: leave it out", entry.name);
    const bool fits = level >= entry.level_min && level <= entry.level_max &&
                      (!entry.whole_levels || level == std::floor(level));
    if (fits) return {};
    return fmt::format("expected {} ({}) from {} to {}, found {}",
                       entry.whole_levels ? "a whole number" : "a number", entry.level,
                       entry.level_min, entry.level_max, level);
}

double checked_level(const CodecEntry& entry, double level) {
    const std::string refusal = level_refusal(entry, level);
    if (!refusal.empty()) throw InputError("codec", "/level", refusal);
    return level == 0 ? entry.level_default : level;
}

void check_sizes(const TensorShape& shape, int ranks) {
    INVARIANT(ranks >= 1 && ranks <= codec_ranks_max);
    INVARIANT(shape.rows >= 0 && shape.columns >= 0);
    INVARIANT(shape.rows <= codec_elements_max && shape.columns <= codec_elements_max);
    INVARIANT(shape.elements() <= codec_elements_max);
}

}  // namespace

std::int64_t size_of(WireElement element) {
    switch (element) {
        case WireElement::byte:
        case WireElement::int8: return 1;
        case WireElement::int16:
        case WireElement::half: return 2;
        case WireElement::int32:
        case WireElement::single: return 4;
    }
    INVARIANT(false);
    return 0;
}

std::int64_t CodecLayout::message_bytes() const {
    std::int64_t bytes = 0;
    for (const WireRound& round : rounds) bytes += round.bytes();
    return bytes;
}

bool CodecLayout::reduces() const {
    return std::ranges::none_of(
        rounds, [](const WireRound& round) { return round.combination == Combination::gather; });
}

std::span<const CodecEntry> all_codecs() { return codec_table; }

const CodecEntry* find_codec(std::string_view name) {
    const auto* found = std::ranges::find(codec_table, name, &CodecEntry::name);
    return found == codec_table.end() ? nullptr : found;
}

const CodecEntry& entry_of(policies::Codec codec) {
    return entry_of(policies::codec_names()[static_cast<std::size_t>(codec)]);
}

double level_meant(policies::Codec codec, double level) {
    return level == 0 ? entry_of(codec).level_default : level;
}

std::string codec_refusal(policies::Codec codec, double level) {
    return level_refusal(entry_of(codec), level);
}

CodecLayout codec_layout(std::string_view name, double level, const TensorShape& shape, int ranks) {
    check_sizes(shape, ranks);
    const CodecEntry& found = entry_of(name);
    return found.layout(checked_level(found, level), shape, ranks);
}

std::unique_ptr<TensorCodec> make_codec(std::string_view name, const CodecSettings& settings,
                                        const CodecMember& member) {
    check_sizes(member.shape, member.ranks);
    INVARIANT(member.rank >= 0 && member.rank < member.ranks);
    const CodecEntry& found = entry_of(name);
    CodecSettings checked = settings;
    checked.level = checked_level(found, settings.level);
    if ((settings.error_feedback || settings.rest_kept) && !found.contracts) {
        throw InputError("codec", "/error_feedback",
                         fmt::format("{} may be off by more than the gradient itself: its errors "
                                     "would grow, not fade",
                                     found.name));
    }
    auto made = found.make(checked, member);
    if (!settings.error_feedback) return made;
    return with_error_feedback(std::move(made), member.shape.elements());
}

Reduction reduction_of(const WireRound& round) {
    if (round.combination == Combination::maximum) {
        INVARIANT(round.element == WireElement::single);
        return Reduction::maximum_single;
    }
    INVARIANT(round.combination == Combination::sum);
    switch (round.element) {
        case WireElement::int8: return Reduction::sum_int8;
        case WireElement::int16: return Reduction::sum_int16;
        case WireElement::int32: return Reduction::sum_int32;
        case WireElement::single: return Reduction::sum_single;
        case WireElement::half: return Reduction::sum_half;
        case WireElement::byte: break;
    }
    INVARIANT(false);
    return Reduction::sum_single;
}

void combine(const WireRound& round, std::span<std::byte> into,
             std::span<const std::byte> message) {
    reduce_into(reduction_of(round), into, message);
}

void exchange_step(const CodecLayout& layout, std::span<TensorCodec* const> ranks,
                   std::int64_t step, std::span<const std::span<const float>> gradients,
                   std::span<float> mean) {
    INVARIANT(!ranks.empty() && gradients.size() == ranks.size() && step >= 0);
    std::vector<std::byte> result;
    std::vector<std::byte> message;
    for (std::size_t index = 0; index < layout.rounds.size(); ++index) {
        const WireRound& round = layout.rounds[index];
        const auto size = static_cast<std::size_t>(round.bytes());
        const bool gathers = round.combination == Combination::gather;
        result.assign(gathers ? size * ranks.size() : size, std::byte{0});
        message.resize(size);
        const auto root = static_cast<std::size_t>(step) % ranks.size();
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            ranks[rank]->encode(index, step, gradients[rank], message);
            if (gathers) {
                std::ranges::copy(message,
                                  result.begin() + static_cast<std::ptrdiff_t>(rank * size));
            } else if (round.combination == Combination::broadcast ? rank == root : rank == 0) {
                std::ranges::copy(message, result.begin());
            } else if (round.combination != Combination::broadcast) {
                combine(round, result, message);
            }
        }
        for (TensorCodec* rank : ranks) rank->combined(index, result);
    }
    for (TensorCodec* rank : ranks) rank->decode(mean);
}

}  // namespace ukemi::kernels
