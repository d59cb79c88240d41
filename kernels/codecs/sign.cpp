// sign.cpp — a bit an element: signSGD with majority vote, and the scaled sign for error feedback.
//
// `sign` (Bernstein et al., arXiv:1802.04434 and 1810.05291): the sign of the sum of the ranks'
// signs, zero for a tie; the learning rate sets the length of the step. A gradient of zero votes
// with the positive ones: there is one bit. `sign_reduced` counts the same votes in an all-reduce
// of integers. `scaled_sign` (EF-signSGD, Karimireddy et al., arXiv:1901.09847) sends mean|g| with
// the signs and averages; ‖C(g) − g‖² = ‖g‖² − ‖g‖₁²/d.
#include <algorithm>

#include "kernels/codecs/wire.hpp"
#include "kernels/element_rules.hpp"

namespace ukemi::kernels {
namespace {

bool bit_of(std::span<const std::byte> bits, std::size_t i) {
    return (std::to_integer<unsigned>(bits[i / 8]) >> (i % 8) & 1U) != 0;
}

void put_signs(std::span<const float> gradient, std::span<std::byte> bits) {
    std::ranges::fill(bits, std::byte{0});
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        if (!(gradient[i] < 0)) bits[i / 8] |= static_cast<std::byte>(1U << (i % 8));
    }
}

float sign_of(std::int32_t sum) { return sum == 0 ? 0.0F : sum > 0 ? 1.0F : -1.0F; }

// Both forms of the vote: bits gathered, or integers summed.
class MajorityVote final : public TensorCodec {
public:
    MajorityVote(const CodecMember& member, bool reduced)
        : reduced_(reduced),
          ranks_(member.ranks),
          element_(wire::integer_for(1, member.ranks)),
          own_(static_cast<std::size_t>(member.shape.elements())),
          votes_(own_.size()) {}

    void encode(std::size_t, std::int64_t, std::span<const float> gradient,
                std::span<std::byte> message) override {
        for (std::size_t i = 0; i < own_.size(); ++i) own_[i] = gradient[i] < 0 ? -1 : 1;
        if (!reduced_) return put_signs(gradient, message);
        for (std::size_t i = 0; i < own_.size(); ++i) {
            wire::put_integer(element_, message, i, own_[i]);
        }
    }
    void combined(std::size_t, std::span<const std::byte> result) override {
        if (reduced_) {
            for (std::size_t i = 0; i < votes_.size(); ++i) {
                votes_[i] = wire::get_integer(element_, result, i);
            }
            return;
        }
        std::ranges::fill(votes_, 0);
        const std::size_t size = (own_.size() + 7) / 8;
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
            const auto bits = result.subspan(rank * size, size);
            for (std::size_t i = 0; i < votes_.size(); ++i) votes_[i] += bit_of(bits, i) ? 1 : -1;
        }
    }
    void decode(std::span<float> mean) override {
        for (std::size_t i = 0; i < votes_.size(); ++i) mean[i] = sign_of(votes_[i]);
    }
    void contribution(std::span<float> arrived) const override {
        for (std::size_t i = 0; i < own_.size(); ++i) arrived[i] = static_cast<float>(own_[i]);
    }

private:
    bool reduced_;
    int ranks_;
    WireElement element_;
    std::vector<std::int32_t> own_;
    std::vector<std::int32_t> votes_;
};

// A message: mean|g|, then a bit an element.
class ScaledSign final : public TensorCodec {
public:
    explicit ScaledSign(const CodecMember& member)
        : ranks_(member.ranks),
          own_(static_cast<std::size_t>(member.shape.elements())),
          mean_(own_.size()) {}

    void encode(std::size_t, std::int64_t, std::span<const float> gradient,
                std::span<std::byte> message) override {
        double sum = 0;
        for (const float value : gradient) sum += static_cast<double>(magnitude_of(value));
        const float scale =
            own_.empty() ? 0.0F : static_cast<float>(sum / static_cast<double>(own_.size()));
        for (std::size_t i = 0; i < own_.size(); ++i) own_[i] = gradient[i] < 0 ? -scale : scale;
        wire::put(message, 0, scale);
        put_signs(gradient, message.subspan(sizeof scale));
    }
    void combined(std::size_t, std::span<const std::byte> result) override {
        std::ranges::fill(mean_, 0.0F);
        const std::size_t size = sizeof(float) + (own_.size() + 7) / 8;
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
            const auto message = result.subspan(rank * size, size);
            const float unit = wire::get<float>(message, 0) / static_cast<float>(ranks_);
            const auto bits = message.subspan(sizeof(float));
            for (std::size_t i = 0; i < mean_.size(); ++i) {
                mean_[i] += bit_of(bits, i) ? unit : -unit;
            }
        }
    }
    void decode(std::span<float> mean) override { std::ranges::copy(mean_, mean.begin()); }
    void contribution(std::span<float> arrived) const override {
        std::ranges::copy(own_, arrived.begin());
    }

private:
    int ranks_;
    std::vector<float> own_;
    std::vector<float> mean_;
};

}  // namespace

CodecLayout sign_layout(double, const TensorShape& shape, int ranks) {
    const std::int64_t elements = shape.elements();
    return {.rounds = {{Combination::gather, WireElement::byte, (elements + 7) / 8}},
            .operations = {.encode = elements, .decode = elements * (ranks + 1)}};
}

CodecLayout sign_reduced_layout(double, const TensorShape& shape, int ranks) {
    const std::int64_t elements = shape.elements();
    return {.rounds = {{Combination::sum, wire::integer_for(1, ranks), elements}},
            .operations = {.encode = elements, .decode = elements}};
}

CodecLayout scaled_sign_layout(double, const TensorShape& shape, int ranks) {
    const std::int64_t elements = shape.elements();
    return {.rounds = {{Combination::gather, WireElement::byte, 4 + (elements + 7) / 8}},
            .operations = {.encode = 2 * elements, .decode = elements * ranks}};
}

std::unique_ptr<TensorCodec> make_sign(const CodecSettings&, const CodecMember& member) {
    return std::make_unique<MajorityVote>(member, false);
}

std::unique_ptr<TensorCodec> make_sign_reduced(const CodecSettings&, const CodecMember& member) {
    return std::make_unique<MajorityVote>(member, true);
}

std::unique_ptr<TensorCodec> make_scaled_sign(const CodecSettings&, const CodecMember& member) {
    return std::make_unique<ScaledSign>(member);
}

}  // namespace ukemi::kernels
