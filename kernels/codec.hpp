// codec.hpp — gradient codecs: what workers send of a gradient instead of the gradient.
//
// A codec turns the averaging of one tensor into rounds. In a round every rank hands in a message
// of one fixed size; the messages are combined and every rank gets the result. Where all rounds
// are sums, maxima or broadcasts, the codec rides an all-reduce («reduce-compatible»): what a rank
// sends does not grow with the number of ranks. A gather brings every rank's message to every rank.
//
// Random draws are a function of (seed, codec, tensor, rank, step, element): equal bits whatever
// the order or the number of threads in which tensors are encoded. Sums run in rank order here.
// Sizes are exact: `layout` says what crosses the wire, byte for byte, and what it costs to make.
// A gradient that is not finite does not become a finite mean, except that signs count what is no
// number as positive, top-k as zero, and random-k sees only what it keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/reduction.hpp"
#include "policies/plan.hpp"

namespace ukemi::kernels {

// A tensor as a matrix, row after row: outputs × the rest of a weight; columns 1 for a vector.
struct TensorShape {
    std::int64_t rows = 0;
    std::int64_t columns = 1;
    std::int64_t elements() const { return rows * columns; }
    bool is_matrix() const { return rows > 1 && columns > 1; }
    friend bool operator==(const TensorShape&, const TensorShape&) = default;
};
inline constexpr std::int64_t codec_elements_max = (std::int64_t{1} << 31) - 1;  // of one tensor
inline constexpr int codec_ranks_max = 1 << 16;

enum class Combination : std::uint8_t {
    sum,        // element by element
    maximum,    // element by element, of non-negative numbers
    broadcast,  // the message of rank (step mod ranks)
    gather,     // all messages, by rank
};
enum class WireElement : std::uint8_t { byte, int8, int16, int32, half, single };
std::int64_t size_of(WireElement element);  // in bytes

struct WireRound {
    Combination combination = Combination::sum;
    WireElement element = WireElement::single;
    std::int64_t count = 0;  // elements of one rank's message
    std::int64_t bytes() const { return count * size_of(element); }
    friend bool operator==(const WireRound&, const WireRound&) = default;
};

// Additions, multiplications, comparisons and draws, to leading order; memory is not counted.
struct CodecOperations {
    std::int64_t encode = 0;
    std::int64_t decode = 0;
    friend bool operator==(const CodecOperations&, const CodecOperations&) = default;
};

struct CodecLayout {
    std::vector<WireRound> rounds;
    CodecOperations operations;
    std::int64_t message_bytes() const;  // of one rank, over all rounds
    bool reduces() const;                // no round gathers
};

// One rank's side of one tensor. A step calls encode and combined for each round in turn, then
// decode once. `gradient` is the same in all rounds of a step.
class TensorCodec {
public:
    virtual ~TensorCodec() = default;
    // Fills the message of this round (its size is the layout's).
    virtual void encode(std::size_t round, std::int64_t step, std::span<const float> gradient,
                        std::span<std::byte> message) = 0;
    // What the round gave; of a gather, the messages of all ranks one after the other.
    virtual void combined(std::size_t round, std::span<const std::byte> result) = 0;
    // The mean over all ranks, as far as it arrived; equal bits on every rank.
    virtual void decode(std::span<float> mean) = 0;
    // After decode: what of this rank's gradient has arrived. Error feedback keeps the rest.
    virtual void contribution(std::span<float> arrived) const = 0;
    // What lasts from step to step (a warm start, the kept rest): to be copied when a step is
    // undone or a joiner starts. The sizes do not change.
    virtual std::vector<std::span<float>> memory() { return {}; }
};

struct CodecSettings {
    double level = 0;             // as the entry defines it; 0: its default
    bool error_feedback = false;  // refused where it would not converge: CodecEntry::contracts
    std::uint64_t seed = 0;
    // The caller keeps what does not arrive, as error feedback does: such values are sent as
    // they are, and none is made larger to be right in the mean.
    bool rest_kept = false;
};

struct CodecMember {
    TensorShape shape;
    std::int64_t tensor = 0;  // its number in the model: names its random stream
    int rank = 0;
    int ranks = 1;
};

struct CodecEntry {
    std::string_view name;
    policies::Codec kind;    // as in a Plan
    std::string_view level;  // what the level means; empty: there is none
    double level_default = 0;
    double level_min = 0;
    double level_max = 0;
    bool whole_levels = false;
    bool unbiased = false;  // E[decoded] = gradient, without error feedback
    bool contracts = false;  // ‖C(g) − g‖² ≤ (1 − δ)‖g‖², δ > 0: error feedback converges
    std::string_view source;
    CodecLayout (*layout)(double level, const TensorShape& shape, int ranks);
    std::unique_ptr<TensorCodec> (*make)(const CodecSettings& settings, const CodecMember& member);
};

std::span<const CodecEntry> all_codecs();
const CodecEntry* find_codec(std::string_view name);  // null if there is none
const CodecEntry& entry_of(policies::Codec codec);    // every Codec of a Plan has one
// Why a Plan cannot have this level (0: the entry's default); empty if it can.
std::string codec_refusal(policies::Codec codec, double level);
// The level that a Plan means: its own, or for 0 the codec's usual one.
double level_meant(policies::Codec codec, double level);

// InputError, with paths as in CodecSettings, for a name that there is not or a level out of range.
CodecLayout codec_layout(std::string_view name, double level, const TensorShape& shape, int ranks);
std::unique_ptr<TensorCodec> make_codec(std::string_view name, const CodecSettings& settings,
                                        const CodecMember& member);

// p = gradient + kept; the inner codec averages p; kept = p − what of it arrived (Karimireddy et
// al., arXiv:1901.09847, Alg. 2; the learning rate stays outside).
std::unique_ptr<TensorCodec> with_error_feedback(std::unique_ptr<TensorCodec> inner,
                                                 std::int64_t elements);

// ---- carrying a step out, all ranks in one thread --------------------------------------------

// How an all-reduce carries a round of sums or maxima.
Reduction reduction_of(const WireRound& round);
// Adds `message` to `into` as the round says (sum or maximum).
void combine(const WireRound& round, std::span<std::byte> into, std::span<const std::byte> message);

// One step of all ranks: `gradients` by rank. Afterwards `mean` is what every rank has decoded.
void exchange_step(const CodecLayout& layout, std::span<TensorCodec* const> ranks,
                   std::int64_t step, std::span<const std::span<const float>> gradients,
                   std::span<float> mean);

}  // namespace ukemi::kernels
