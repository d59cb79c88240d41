// atomo.cpp — ATOMO (Wang et al., arXiv:1806.04090): a few of the gradient's singular triples,
// chosen at random so that the mean is right and the variance least.
//
// The chances p_i = min(1, c σ_i) with Σ p_i = s (Alg. 1, water filling); a chosen triple counts
// σ_i ÷ p_i. E‖Q(M) − M‖² = Σ σ_i² (1/p_i − 1): triples are orthogonal, so only the single chances
// matter and not which triples come together. That allows systematic sampling, which always draws
// exactly s triples where independent draws give s in the mean: messages have one size. Tensors
// that are no matrices, or would not get smaller, go as they are. The decomposition is Eigen's and
// dear: it is why this codec is rarely worth it.
#include <fmt/format.h>

#include <Eigen/SVD>
#include <algorithm>
#include <limits>

#include "kernels/codecs/atomo.hpp"
#include "kernels/codecs/whole.hpp"
#include "kernels/element_draws.hpp"

namespace ukemi::kernels {

std::vector<double> atomo_chances(std::span<const double> sigma, std::size_t budget) {
    std::vector<double> chances(sigma.size(), 0.0);
    double rest = 0;  // of what is not certain
    for (const double value : sigma) rest += value;
    auto left = static_cast<double>(budget);
    std::size_t certain = 0;
    while (certain < sigma.size() && left >= 1 && sigma[certain] * left >= rest) {
        if (sigma[certain] <= 0) break;
        chances[certain] = 1;
        rest -= sigma[certain++];
        left -= 1;
    }
    for (std::size_t i = certain; i < sigma.size() && left > 0 && rest > 0; ++i) {
        chances[i] = std::min(1.0, sigma[i] * left / rest);
    }
    return chances;
}

namespace {

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::int64_t atoms_of(double level, const TensorShape& shape) {
    return std::min({static_cast<std::int64_t>(level), shape.rows, shape.columns});
}
bool atoms_shrink(const TensorShape& shape, std::int64_t atoms) {
    return shape.is_matrix() && atoms * (shape.rows + shape.columns + 1) < shape.elements();
}

// A message: for each atom its weight, its left vector, its right vector.
class Atomo final : public TensorCodec {
public:
    Atomo(const CodecSettings& settings, const CodecMember& member, std::int64_t atoms)
        : shape_(member.shape),
          ranks_(member.ranks),
          atoms_(static_cast<std::size_t>(atoms)),
          key_(key_of(settings.seed,
                      fmt::format("codec/atomo/tensor/{}/rank/{}", member.tensor, member.rank))),
          own_(atoms_ * atom_size()),
          mean_(static_cast<std::size_t>(shape_.elements())) {}

    void encode(std::size_t, std::int64_t step, std::span<const float> gradient,
                std::span<std::byte> message) override {
        const Eigen::Map<const RowMatrix> matrix(gradient.data(), shape_.rows, shape_.columns);
        // compiles in a tenth of the time of BDCSVD
        const Eigen::JacobiSVD<RowMatrix> parts(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
        if (parts.info() == Eigen::InvalidInput) {  // something is not finite
            std::ranges::fill(own_, std::numeric_limits<float>::quiet_NaN());
            std::ranges::copy(std::as_bytes(std::span(own_)), message.begin());
            return;
        }
        keep_some(parts, step);
        std::ranges::copy(std::as_bytes(std::span(own_)), message.begin());
    }
    void combined(std::size_t, std::span<const std::byte> result) override {
        std::ranges::fill(mean_, 0.0F);
        std::vector<float> message(own_.size());
        const std::size_t size = own_.size() * sizeof(float);
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
            std::memcpy(message.data(), result.data() + rank * size, size);
            add(message, 1 / static_cast<float>(ranks_), mean_);
        }
    }
    void decode(std::span<float> mean) override { std::ranges::copy(mean_, mean.begin()); }
    void contribution(std::span<float> arrived) const override {
        std::ranges::fill(arrived, 0.0F);
        add(own_, 1, arrived);
    }

private:
    std::size_t rows() const { return static_cast<std::size_t>(shape_.rows); }
    std::size_t columns() const { return static_cast<std::size_t>(shape_.columns); }
    std::size_t atom_size() const { return 1 + rows() + columns(); }

    // Systematic sampling: a triple is taken where the running sum of chances, from a random start,
    // passes a whole number.
    void keep_some(const Eigen::JacobiSVD<RowMatrix>& parts, std::int64_t step) {
        std::vector<double> sigma;
        for (const float value : parts.singularValues()) {
            sigma.push_back(static_cast<double>(value));
        }
        const std::vector<double> chances = atomo_chances(sigma, atoms_);
        const FourDraws drawn = draws_of(key_, 0, static_cast<std::uint64_t>(step));
        std::ranges::fill(own_, 0.0F);
        std::size_t atom = 0;
        double covered = static_cast<double>(uniform_of(drawn.words[0]));
        for (std::size_t i = 0; i < sigma.size() && atom < atoms_; ++i) {
            covered += chances[i];
            if (covered < 1) continue;
            covered -= 1;
            const auto out = std::span(own_).subspan(atom++ * atom_size(), atom_size());
            out[0] = static_cast<float>(sigma[i] / chances[i]);
            const auto column = static_cast<Eigen::Index>(i);
            for (std::size_t row = 0; row < rows(); ++row) {
                out[1 + row] = parts.matrixU()(static_cast<Eigen::Index>(row), column);
            }
            for (std::size_t k = 0; k < columns(); ++k) {
                out[1 + rows() + k] = parts.matrixV()(static_cast<Eigen::Index>(k), column);
            }
        }
    }

    void add(std::span<const float> message, float times, std::span<float> out) const {
        for (std::size_t atom = 0; atom < atoms_; ++atom) {
            const auto parts = message.subspan(atom * atom_size(), atom_size());
            for (std::size_t i = 0; i < out.size(); ++i) {
                out[i] +=
                    times * parts[0] * parts[1 + i / columns()] * parts[1 + rows() + i % columns()];
            }
        }
    }

    TensorShape shape_;
    int ranks_;
    std::size_t atoms_;
    DrawKey key_;
    std::vector<float> own_;
    std::vector<float> mean_;
};

}  // namespace

CodecLayout atomo_layout(double level, const TensorShape& shape, int ranks) {
    const std::int64_t atoms = atoms_of(level, shape);
    if (!atoms_shrink(shape, atoms)) return wire::whole_layout(shape);
    const std::int64_t lesser = std::min(shape.rows, shape.columns);
    // A thin decomposition through a QR first takes about 6 m n² + 20 n³ (Golub and Van Loan,
    // Matrix Computations, §8.6).
    return {.rounds = {{Combination::gather, WireElement::single,
                        atoms * (shape.rows + shape.columns + 1)}},
            .operations = {.encode = 6 * shape.elements() * lesser + 20 * lesser * lesser * lesser,
                           .decode = 3 * atoms * shape.elements() * ranks}};
}

std::unique_ptr<TensorCodec> make_atomo(const CodecSettings& settings, const CodecMember& member) {
    const std::int64_t atoms = atoms_of(settings.level, member.shape);
    if (!atoms_shrink(member.shape, atoms)) return std::make_unique<WholeGradient>(member);
    return std::make_unique<Atomo>(settings, member, atoms);
}

}  // namespace ukemi::kernels
