// use_replica_bytes.hpp — any bytes at all as a replica's state: restored from a checkpoint's file,
// trained on and saved again.
//
// For the fuzzer, and for the test that what the fuzzer begins with is taken. The first byte says
// how the rest is to be taken, the second how many parameters the model has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "kernels/checkpoint_file.hpp"
#include "kernels/replica.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

// Whatever was restored is a replica like any other.
inline void train_on(kernels::Replica& replica) {
    const std::vector<float> gradient(replica.size(), 0.5F);
    const std::uint64_t before = replica.digest();
    INVARIANT(!replica.can_undo());
    replica.apply_gradient(gradient, 0.1);
    replica.undo();
    INVARIANT(replica.digest() == before);
    replica.apply_averaged(gradient, 0.1, gradient);
    replica.apply_learners(0.1, gradient);
    INVARIANT(replica.is_at_central() || replica.digest() != before);
    replica.apply_paired(gradient, 0.1, replica.weights());
    replica.undo();
    replica.restart_from(replica.central());
    replica.apply_gradient(gradient, 0.1);
}

inline void restore_and_train(std::span<const std::byte> state, std::size_t parameters) {
    kernels::Replica replica(std::vector<float>(parameters, 1.0F), {.momentum = 0.5});
    replica.restore(state);
    const std::vector<std::byte> saved = replica.state();
    INVARIANT(std::ranges::equal(saved, state));
    train_on(replica);
}

// False if it was refused.
inline bool use_replica_bytes(std::span<const std::byte> bytes) {
    if (bytes.size() < 2) return false;
    const auto kind = std::to_integer<unsigned>(bytes[0]) % 32;  // few with a file: they are slow
    const auto parameters = std::to_integer<std::size_t>(bytes[1]);
    const std::span<const std::byte> rest = bytes.subspan(2);
    try {
        if (kind > 1) {
            restore_and_train(rest, parameters);
            return true;
        }
        const ScratchFolder folder;
        const std::filesystem::path file = folder.path() / "checkpoint";
        if (kind == 0) {  // a file that is right, with any state in it
            const kernels::Checkpoint right{.job = 7,
                                            .step = 3,
                                            .position = 9,
                                            .plan_version = 1,
                                            .state = {rest.begin(), rest.end()}};
            kernels::write_checkpoint(file, right);
            INVARIANT(kernels::read_checkpoint(file) == right);
        } else {
            std::ofstream(file, std::ios::binary)
                .write(reinterpret_cast<const char*>(rest.data()),
                       static_cast<std::streamsize>(rest.size()));
        }
        restore_and_train(kernels::read_checkpoint(file).state, parameters);
        return true;
    } catch (const InputError&) {  // the only way to refuse
        return false;
    }
}

}  // namespace ukemi
