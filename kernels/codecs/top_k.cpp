// top_k.cpp — the k elements of largest magnitude; of equal ones the first.
//
// `top_k`: every rank sends its own k with their places, so messages are gathered. Biased; ‖C(g) −
// g‖² ≤ (1 − k/d)‖g‖². `top_k_agreed`: one rank's k places for all, the next rank's in the next
// step, then a sum of k numbers: an all-reduce carries it. (Taking turns is the idea of ScaleCom,
// Chen et al., arXiv:2104.11125; with error feedback the ranks' largest elements become alike.)
#include <algorithm>
#include <array>
#include <bit>

#include "kernels/codecs/wire.hpp"

namespace ukemi::kernels {
namespace {

// Bits of a magnitude, ordered as it is. What is no number counts as zero.
std::uint32_t order_of(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0x7FFF'FFFFU;
    return bits <= 0x7F80'0000U ? bits : 0;
}

// Places of the k largest magnitudes, ascending. The k-th is found digit by digit, from the highest
// on, by counting; so it takes as long whatever the values are, which a partition does not.
void largest_of(std::span<const float> values, std::vector<std::uint32_t>& orders,
                std::span<std::int32_t> kept) {
    constexpr int digit_bits = 8;
    constexpr std::size_t digits = std::size_t{1} << digit_bits;
    orders.resize(values.size());
    std::ranges::transform(values, orders.begin(), order_of);
    std::uint32_t kth = 0;
    std::size_t left = kept.size();  // how many of those that begin as the k-th does are kept
    for (int shift = 32 - digit_bits; shift >= 0 && left > 0; shift -= digit_bits) {
        std::array<std::size_t, digits + 1> counts{};  // the last: of those that begin otherwise
        const std::uint64_t begin = std::uint64_t{kth} >> (shift + digit_bits);
        for (const std::uint32_t order : orders) {
            const std::uint32_t digit = (order >> shift) & (digits - 1);
            ++counts[std::uint64_t{order} >> (shift + digit_bits) == begin ? digit : digits];
        }
        std::size_t digit = digits - 1;
        for (; counts[digit] < left; --digit) left -= counts[digit];
        kth |= static_cast<std::uint32_t>(digit) << shift;
    }
    std::size_t found = 0;
    for (std::size_t i = 0; found < kept.size(); ++i) {
        const bool equal = orders[i] == kth && left > 0;
        kept[found] = static_cast<std::int32_t>(i);
        found += orders[i] > kth || equal;
        left -= equal;
    }
}

// A message: k places, then k values.
class TopK final : public TensorCodec {
public:
    TopK(const CodecSettings& settings, const CodecMember& member)
        : ranks_(member.ranks),
          places_(static_cast<std::size_t>(wire::kept_of(settings.level, member.shape.elements()))),
          values_(places_.size()),
          mean_(static_cast<std::size_t>(member.shape.elements())) {}

    void encode(std::size_t, std::int64_t, std::span<const float> gradient,
                std::span<std::byte> message) override {
        largest_of(gradient, orders_, places_);
        for (std::size_t k = 0; k < places_.size(); ++k) {
            values_[k] = gradient[static_cast<std::size_t>(places_[k])];
        }
        const auto places = std::as_bytes(std::span(places_));
        std::ranges::copy(places, message.begin());
        std::ranges::copy(std::as_bytes(std::span(values_)),
                          message.subspan(places.size()).begin());
    }
    void combined(std::size_t, std::span<const std::byte> result) override {
        std::ranges::fill(mean_, 0.0F);
        const std::size_t kept = places_.size();
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
            const auto message = result.subspan(rank * kept * 8, kept * 8);
            for (std::size_t k = 0; k < kept; ++k) {
                const auto place = static_cast<std::size_t>(wire::get<std::int32_t>(message, k));
                INVARIANT(place < mean_.size());
                mean_[place] += wire::get<float>(message, kept + k) / static_cast<float>(ranks_);
            }
        }
    }
    void decode(std::span<float> mean) override { std::ranges::copy(mean_, mean.begin()); }
    void contribution(std::span<float> arrived) const override {
        std::ranges::fill(arrived, 0.0F);
        for (std::size_t k = 0; k < places_.size(); ++k) {
            arrived[static_cast<std::size_t>(places_[k])] = values_[k];
        }
    }

private:
    int ranks_;
    std::vector<std::uint32_t> orders_;
    std::vector<std::int32_t> places_;
    std::vector<float> values_;
    std::vector<float> mean_;
};

class TopKAgreed final : public TensorCodec {
public:
    TopKAgreed(const CodecSettings& settings, const CodecMember& member)
        : rank_(member.rank),
          ranks_(member.ranks),
          elements_(static_cast<std::size_t>(member.shape.elements())),
          places_(static_cast<std::size_t>(wire::kept_of(settings.level, member.shape.elements()))),
          own_(places_.size()),
          mean_(places_.size()) {}

    void encode(std::size_t round, std::int64_t step, std::span<const float> gradient,
                std::span<std::byte> message) override {
        if (round == 0) {
            if (step % ranks_ == rank_) largest_of(gradient, orders_, places_);
            std::ranges::copy(std::as_bytes(std::span(places_)), message.begin());
            return;
        }
        for (std::size_t k = 0; k < places_.size(); ++k) {
            own_[k] = gradient[static_cast<std::size_t>(places_[k])];
        }
        std::ranges::copy(std::as_bytes(std::span(own_)), message.begin());
    }
    void combined(std::size_t round, std::span<const std::byte> result) override {
        for (std::size_t k = 0; k < places_.size(); ++k) {
            if (round == 0) {
                places_[k] = wire::get<std::int32_t>(result, k);
                INVARIANT(places_[k] >= 0 && static_cast<std::size_t>(places_[k]) < elements_);
            } else {
                mean_[k] = wire::get<float>(result, k) / static_cast<float>(ranks_);
            }
        }
    }
    void decode(std::span<float> mean) override { spread(mean_, mean); }
    void contribution(std::span<float> arrived) const override { spread(own_, arrived); }

private:
    void spread(std::span<const float> values, std::span<float> out) const {
        std::ranges::fill(out, 0.0F);
        for (std::size_t k = 0; k < places_.size(); ++k) {
            out[static_cast<std::size_t>(places_[k])] = values[k];
        }
    }

    int rank_;
    int ranks_;
    std::size_t elements_;
    std::vector<std::uint32_t> orders_;
    std::vector<std::int32_t> places_;
    std::vector<float> own_;
    std::vector<float> mean_;
};

// Of the usual selection, which is linear in d and then puts the places in order: k log k. Ours
// reads d six times instead.
CodecOperations selection(const TensorShape& shape, std::int64_t kept, std::int64_t summands) {
    std::int64_t logarithm = 1;
    while ((std::int64_t{1} << logarithm) < kept) ++logarithm;
    return {.encode = 3 * shape.elements() + kept * logarithm, .decode = 2 * kept * summands};
}

}  // namespace

CodecLayout top_k_layout(double level, const TensorShape& shape, int ranks) {
    const std::int64_t kept = wire::kept_of(level, shape.elements());
    return {.rounds = {{Combination::gather, WireElement::byte, 8 * kept}},
            .operations = selection(shape, kept, ranks)};
}

CodecLayout top_k_agreed_layout(double level, const TensorShape& shape, int) {
    const std::int64_t kept = wire::kept_of(level, shape.elements());
    return {.rounds = {{Combination::broadcast, WireElement::int32, kept},
                       {Combination::sum, WireElement::single, kept}},
            .operations = selection(shape, kept, 1)};
}

std::unique_ptr<TensorCodec> make_top_k(const CodecSettings& settings, const CodecMember& member) {
    return std::make_unique<TopK>(settings, member);
}

std::unique_ptr<TensorCodec> make_top_k_agreed(const CodecSettings& settings,
                                               const CodecMember& member) {
    return std::make_unique<TopKAgreed>(settings, member);
}

}  // namespace ukemi::kernels
