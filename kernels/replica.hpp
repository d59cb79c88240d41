// replica.hpp — one worker's copy of the model, and what its optimiser remembers.
//
// A step writes the new state beside the old one, so the last step can be undone at no cost: that
// is what lets survivors of a loss discard a torn step. `digest` is a hash over all bits that the
// next step depends on. Every update works element by element in single precision with + − × ÷
// only, so equal states and equal inputs give equal bits on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/element_rules.hpp"
#include "kernels/gradient_noise.hpp"
#include "policies/plan.hpp"

namespace ukemi::kernels {

struct OptimiserSettings {
    double momentum = 0;            // of the local optimiser (heavy ball)
    double weight_decay = 0;        // L2, added to the gradient
    double averaging_rate = 0.1;    // α of synchronous model averaging (Crossbow; KungFu's 0.1)
    double averaging_momentum = 0;  // μ of the central model (Crossbow Alg. 1)
};

// What a gradient codec remembers from one step to the next.
struct CodecMemory {
    policies::Codec codec = policies::Codec::none;  // that `shared` belongs to
    double level = 0;
    std::vector<float> shared;  // a warm start, the same on all ranks
    // What of this rank's gradients has not arrived (error feedback): empty, or as long as the
    // model. It is this rank's own: neither in the digest nor in the state, so that a newcomer does
    // not say it again.
    std::vector<float> kept;
};

class Replica {
public:
    Replica(std::vector<float> weights, OptimiserSettings settings);

    std::size_t size() const;  // parameters
    const OptimiserSettings& settings() const { return settings_; }
    MomentumRule rule(double learning_rate) const;  // of its local step
    std::span<const float> weights() const;
    // The average model of synchronous averaging; the weights before the first such step and in
    // other synchronisations.
    std::span<const float> central() const;
    std::span<const float> central_previous() const;    // z_prev, under the same rule
    std::int64_t steps() const;                         // applied and not undone
    policies::Synchronisation synchronisation() const;  // of the last step; s_sgd before the first
    double learning_rate() const;                       // of the last step; 0 before the first
    const NoiseAverages& noise() const;                 // see note_noise
    const CodecMemory& codec_memory() const;            // see note_codec

    // v ← m v + (g + wd w); w ← w − lr v, with g the mean gradient over a step's samples.
    void apply_gradient(std::span<const float> mean_gradient, double learning_rate);
    // Crossbow's synchronous averaging (Koliousis et al., VLDB'19, Alg. 1). `correction` is
    // α(w − z) of this replica before the step; `sum` the same summed over all replicas:
    // w ← w − lr v − correction, z ← z + sum + μ(z − z_prev). KungFu's SMA, w ← w − α(w − mean),
    // takes the replicas' present mean for z. With α = 1/k and μ = 0 that is what z is here, one
    // step late, which is what lets the exchange run while the gradient is computed.
    void correction(std::span<float> out) const;
    void apply_averaged(std::span<const float> mean_gradient, double learning_rate,
                        std::span<const float> correction_sum);
    // The same where the worker's learners have replicas of their own (learners/learner_group.hpp):
    // `sum` is that of all learners of all workers, and only the central model is stepped here.
    // The replica is then one that begins at it: weights z, velocity zero.
    void apply_learners(double learning_rate, std::span<const float> correction_sum);
    bool is_at_central() const;  // as after apply_learners (or by chance): nothing is its own
    // Pair averaging (AD-PSGD, in rounds): w ← (w + w_peer)/2, then the local gradient, which was
    // taken at w before the averaging.
    void apply_paired(std::span<const float> mean_gradient, double learning_rate,
                      std::span<const float> peer_weights);
    // Starts anew from one common model: weights and central model become `weights`, velocity and
    // the central model's momentum zero (Crossbow's restart; also the switch from one
    // synchronisation to another). It and the next apply_* are undone together.
    void restart_from(std::span<const float> weights);
    // Keeps the smoothed noise statistics with the step just applied: undone and saved with it.
    void note_noise(const NoiseAverages& noise);
    // Keeps what the codec remembers after the step just applied. A step without this call
    // leaves no memory: what was kept has gone into its gradient.
    void note_codec(CodecMemory memory);

    bool can_undo() const;
    void undo();  // the last apply_*; once

    std::uint64_t digest() const;
    // Everything that `digest` covers, as bytes of this machine's order; restore() throws
    // InputError for bytes that are not such a state of the same size. Settings are not part of
    // it, nor is what error feedback kept. A restored replica cannot undo.
    std::vector<std::byte> state() const;
    void restore(std::span<const std::byte> state);

private:
    // One of two: the present state, and the one before the last step, which the next step
    // overwrites.
    struct State {
        std::int64_t steps = 0;
        policies::Synchronisation synchronisation = policies::Synchronisation::s_sgd;
        double learning_rate = 0;
        NoiseAverages noise;
        CodecMemory codec;
        std::vector<float> weights;
        std::vector<float> velocity;
        std::vector<float> central;           // these two: empty unless averaging
        std::vector<float> central_previous;  // z before the last step
    };
    State& begin_step(policies::Synchronisation synchronisation, double learning_rate);
    const State& before() const { return restarted_ ? now_ : other_; }

    OptimiserSettings settings_;
    State now_;
    State other_;
    bool can_undo_ = false;
    bool restarted_ = false;  // and no step since
};

}  // namespace ukemi::kernels
