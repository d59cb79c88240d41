// codec_kernels_test.cpp — how many kernels a codec takes, and when the host or the device is late.
#include "sim/step/codec_kernels.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/gpu_profile.hpp"

namespace ukemi {

namespace {

using sim::CodecClock;
using sim::CodecKernels;

CodecKernels of(std::string_view gpu, std::string_view codec, double level,
                const kernels::TensorShape& shape, int ranks) {
    const CodecClock clock(sim::gpu_named(gpu, "test"), "test");
    return clock.tensor(*kernels::find_codec(codec), level, shape, ranks);
}

}  // namespace

TEST_CASE("codec kernels: PowerSGD's are launched one by one, and nine more a rank",
          "[codec_kernels]") {
    for (const int rank : {1, 2, 4, 8, 16}) {
        const CodecKernels kernels = of("v100_sxm2_16gb", "power_sgd", rank, {512, 4608}, 4);
        // Error feedback 2 + 2, three products, Gram-Schmidt.
        CHECK(kernels.encode.launches + kernels.decode.launches == 7 + 9 * rank - 4);
        CHECK(CodecClock::host_bound(of("v100_sxm2_16gb", "power_sgd", rank, {64, 576}, 4).encode));
        // A reduced codec's cost does not depend on who else is there.
        CHECK(of("v100_sxm2_16gb", "power_sgd", rank, {512, 4608}, 64).decode.launches ==
              kernels.decode.launches);
    }
    // A rank that makes a tensor no smaller leaves it whole: error feedback, and the way back.
    CHECK(of("v100_sxm2_16gb", "power_sgd", 4, {64, 1}, 4).encode.launches == 2);
    CHECK(of("v100_sxm2_16gb", "power_sgd", 16, {8, 9}, 4).encode.launches == 2);
}

TEST_CASE("codec kernels: a selection by one block is as slow as measured", "[codec_kernels]") {
    // github pytorch/pytorch#22812: 25.6 ms for two million on P100.
    const CodecKernels kernels = of("p100_sxm2", "top_k", 0.0005, {2'000'000, 1}, 2);
    CHECK(kernels.encode.device_s == Approx(25.6e-3).epsilon(0.02));
    CHECK_FALSE(CodecClock::host_bound(kernels.encode));
    CHECK(CodecClock::time(kernels.encode) == seconds(kernels.encode.device_s));
    // Libraries since 2022 take many blocks, where the tensor is large.
    const double one = of("a100_sxm4_80gb", "top_k", 0.01, {2'000'000, 1}, 2).encode.device_s;
    const double many = of("h100_sxm5_80gb", "top_k", 0.01, {2'000'000, 1}, 2).encode.device_s;
    CHECK(many < one / 20);
    CHECK(of("h100_sxm5_80gb", "top_k", 0.01, {1000, 1}, 2).encode.device_s ==
          Approx(of("a100_sxm4_80gb", "top_k", 0.01, {1000, 1}, 2).encode.device_s).epsilon(0.05));
}

TEST_CASE("codec kernels: what is gathered is decoded peer by peer", "[codec_kernels]") {
    const CodecClock clock(sim::gpu_named("v100_sxm2_16gb", "test"), "test");
    for (const kernels::CodecEntry& codec : kernels::all_codecs()) {
        CAPTURE(codec.name);
        const kernels::TensorShape shape{512, 4608};
        const auto decode = [&](int ranks) {
            sim::KernelSum all = clock.tensor(codec, 0, shape, ranks).decode;
            all += clock.message(codec, shape.elements(), ranks).decode;
            return all;
        };
        const std::int64_t few = decode(2).launches;
        const std::int64_t growth = decode(4).launches - few;
        const bool gathers = !kernels::codec_layout(codec.name, 0, shape, 4).reduces();
        CHECK((growth > 0) == gathers);
        CHECK(decode(64).launches == few + 31 * growth);
        CHECK(decode(64).device_s >= decode(2).device_s);
    }
}

TEST_CASE("codec kernels: every codec has a cost on every GPU, none is free", "[codec_kernels]") {
    for (const sim::GpuProfile& gpu : sim::all_gpus()) {
        const CodecClock clock(gpu, "test");
        for (const kernels::CodecEntry& codec : kernels::all_codecs()) {
            CAPTURE(gpu.name, codec.name);
            CodecKernels all = clock.tensor(codec, 0, {256, 2304}, 8);
            const CodecKernels shared = clock.message(codec, 256 * 2304, 8);
            all.encode += shared.encode;
            all.decode += shared.decode;
            const bool none = codec.kind == policies::Codec::none;
            CHECK((CodecClock::time(all.encode) > Duration{}) == !none);
            CHECK((CodecClock::time(all.decode) > Duration{}) == !none);
            CHECK(CodecClock::time(all.encode) < days(1));
        }
    }
}

}  // namespace ukemi
