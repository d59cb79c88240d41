// inception_v3.cpp — Inception-v3 without its auxiliary head (Szegedy et al., CVPR 2016; block
// shapes as in torchvision's inception.py): branches side by side, their channels joined.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/layer_stack.hpp"
#include "sim/cluster/models/architectures.hpp"

namespace ukemi::sim {
namespace {

using Window = LayerStack::Window;

constexpr Window one{1, 1, 1, 0, 0};
constexpr Window three{3, 3, 1, 1, 1};
constexpr Window halving{3, 3, 2, 0, 0};
constexpr Window wide_three{1, 3, 1, 0, 1};
constexpr Window tall_three{3, 1, 1, 1, 0};
constexpr Window wide_seven{1, 7, 1, 0, 3};
constexpr Window tall_seven{7, 1, 1, 3, 0};

struct Unit {
    std::int64_t channels;
    Window window;
};
using Branch = std::vector<Unit>;

class Inception {
public:
    Inception(std::string name, std::int64_t side)
        : net_(std::move(name), fmt::format("image of {} x {}", side, side), {3, side, side}) {}

    void unit(const std::string& at, const Unit& unit) {
        net_.convolution(at + ".conv", unit.channels, unit.window, false);
        net_.batch_norm(at + ".norm");
    }

    // Every branch from the same input; a branch may fork at its end into two halves. `pooled` are
    // the channels that a pooling branch without parameters passes on.
    void block(const std::string& at, const std::vector<Branch>& branches,
               std::int64_t pooled = 0) {
        const LayerStack::Shape input = net_.shape();
        LayerStack::Shape joined{pooled, 0, 0};
        for (std::size_t b = 0; b < branches.size(); ++b) {
            net_.set(input);
            for (std::size_t i = 0; i < branches[b].size(); ++i) {
                const bool fork = i > 0 && same(branches[b][i - 1].window, wide_three) &&
                                  same(branches[b][i].window, tall_three);
                if (fork) {  // both halves see what came before the first of them
                    joined.channels += net_.shape().channels;
                    net_.set(before_);
                }
                before_ = net_.shape();
                unit(fmt::format("{}.branch{}.{}", at, b, i), branches[b][i]);
            }
            joined.channels += net_.shape().channels;
            joined.height = net_.shape().height;
            joined.width = net_.shape().width;
        }
        net_.set(joined);
    }

    LayerStack& net() { return net_; }

private:
    static bool same(const Window& a, const Window& b) {
        return a.height == b.height && a.width == b.width;
    }

    LayerStack net_;
    LayerStack::Shape before_;
};

}  // namespace

ModelProfile inception_v3(std::string name, std::int64_t side) {
    Inception net(std::move(name), side);
    const Window five{5, 5, 1, 2, 2};
    net.unit("stem0", {32, halving});
    net.unit("stem1", {32, {3, 3, 1, 0, 0}});
    net.unit("stem2", {64, three});
    net.net().pool(halving);
    net.unit("stem3", {80, one});
    net.unit("stem4", {192, {3, 3, 1, 0, 0}});
    net.net().pool(halving);
    int index = 0;
    const auto next = [&] { return fmt::format("mixed{}", index++); };
    for (const std::int64_t pool : {32, 64, 64}) {
        net.block(next(), {{{64, one}},
                           {{48, one}, {64, five}},
                           {{64, one}, {96, three}, {96, three}},
                           {{pool, one}}});
    }
    net.block(next(), {{{384, halving}}, {{64, one}, {96, three}, {96, halving}}},
              net.net().shape().channels);
    for (const std::int64_t c : {128, 160, 160, 192}) {
        net.block(next(),
                  {{{192, one}},
                   {{c, one}, {c, wide_seven}, {192, tall_seven}},
                   {{c, one}, {c, tall_seven}, {c, wide_seven}, {c, tall_seven}, {192, wide_seven}},
                   {{192, one}}});
    }
    net.block(next(),
              {{{192, one}, {320, halving}},
               {{192, one}, {192, wide_seven}, {192, tall_seven}, {192, halving}}},
              net.net().shape().channels);
    for (int i = 0; i < 2; ++i) {
        net.block(next(), {{{320, one}},
                           {{384, one}, {384, wide_three}, {384, tall_three}},
                           {{448, one}, {384, three}, {384, wide_three}, {384, tall_three}},
                           {{192, one}}});
    }
    net.net().global_pool();
    net.net().dense("fc", 1000);
    return net.net().finished();
}

}  // namespace ukemi::sim
