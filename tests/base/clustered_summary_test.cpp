// clustered_summary_test.cpp — intervals over clusters, and the test of paired differences.
#include "base/clustered_summary.hpp"

#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "base/signed_rank.hpp"

namespace ukemi {

namespace {

std::vector<ClusterValue> one_each(std::span<const double> values) {
    std::vector<ClusterValue> all;
    for (const double value : values) all.push_back({all.size(), value});
    return all;
}

}  // namespace

TEST_CASE("clustered summary: a value a cluster is Student's interval", "[base][clusters]") {
    const std::vector<double> values{3, 1, 4, 1, 5, 9, 2, 6};
    const Summary plain = summarise(values);
    const Summary clustered = summarise_clusters(one_each(values));
    CHECK(clustered.clusters == 8);
    CHECK(clustered.count == 8);
    CHECK(clustered.mean == plain.mean);
    CHECK(clustered.mean_low_95 == Approx(plain.mean_low_95).epsilon(1e-12));
    CHECK(clustered.mean_high_95 == Approx(plain.mean_high_95).epsilon(1e-12));
}

TEST_CASE("clustered summary: equal clusters are Student's interval over their means",
          "[base][clusters]") {
    const std::vector<ClusterValue> values{{7, 1}, {7, 3}, {2, 10}, {2, 12}, {5, 4}, {5, 8}};
    const std::vector<double> means{2, 11, 6};
    const Summary of_means = summarise(means);
    const Summary clustered = summarise_clusters(values);
    CHECK(clustered.clusters == 3);
    CHECK(clustered.count == 6);
    CHECK(clustered.mean == Approx(of_means.mean).epsilon(1e-12));
    CHECK(clustered.mean_high_95 == Approx(of_means.mean_high_95).epsilon(1e-12));
}

TEST_CASE("clustered summary: repeating every run narrows nothing", "[base][clusters]") {
    const std::vector<double> values{40, 90, 55, 140, 61, 47};
    std::vector<ClusterValue> often;
    for (int times = 0; times < 500; ++times) {
        for (const ClusterValue& one : one_each(values)) often.push_back(one);
    }
    const Summary once = summarise(values);
    const Summary repeated = summarise_clusters(often);
    CHECK(repeated.mean_low_95 == Approx(once.mean_low_95).epsilon(1e-9));
    CHECK(repeated.mean_high_95 == Approx(once.mean_high_95).epsilon(1e-9));
    CHECK(repeated.clusters == 6);
    std::vector<double> pooled;
    for (const ClusterValue& one : often) pooled.push_back(one.value);
    CHECK(summarise(pooled).mean_high_95 - once.mean <
          (once.mean_high_95 - once.mean) / 20);  // what pooling would claim
}

TEST_CASE("clustered summary: one cluster has no interval", "[base][clusters]") {
    const std::vector<ClusterValue> values{{3, 1}, {3, 2}, {3, 6}};
    const Summary summary = summarise_clusters(values);
    CHECK(summary.clusters == 1);
    CHECK(summary.mean == 3);
    CHECK(summary.mean_low_95 == 3);
    CHECK(summary.mean_high_95 == 3);
    CHECK(summarise_clusters({}).count == 0);
    CHECK(summarise_clusters({}).clusters == 0);
}

// With weights w of a half and two quarters, Σw² is 3/8, and c = w²/(1 + 3/8 − 2w) is 2/3, 1/14 and
// 1/14: a variance of 6 + 1/14 + 25/14. The degrees of freedom are those of the matrices multiplied
// out, 1.4459, at which Student's quantile (of scipy.stats.t) is 6.3423.
TEST_CASE("clustered summary: unequal clusters have Satterthwaite's degrees of freedom",
          "[base][clusters]") {
    const Summary summary =
        summarise_clusters(std::vector<ClusterValue>{{0, 0}, {0, 0}, {1, 4}, {2, 8}});
    CHECK(summary.mean == 3);
    CHECK(summary.mean_high_95 - 3 == Approx(17.77777719614789).epsilon(1e-6));
    CHECK(3 - summary.mean_low_95 == Approx(17.77777719614789).epsilon(1e-6));
}

TEST_CASE("clustered summary: its interval holds the mean 95 times of 100", "[base][clusters]") {
    // Clusters of unequal size, which differ as much as what is in them.
    const std::size_t sizes[] = {2, 3, 4, 5, 5, 5, 6, 8};
    RandomStream random(11, "test/clusters");
    int held = 0, pooled_held = 0;
    constexpr int repetitions = 2000;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        std::vector<ClusterValue> values;
        std::vector<double> pooled;
        for (std::size_t cluster = 0; cluster < std::size(sizes); ++cluster) {
            const double common = random.normal(0, 1);
            for (std::size_t i = 0; i < sizes[cluster]; ++i) {
                values.push_back({cluster, common + random.normal(0, 1)});
                pooled.push_back(values.back().value);
            }
        }
        const Summary clustered = summarise_clusters(values);
        held += clustered.mean_low_95 <= 0 && 0 <= clustered.mean_high_95;
        const Summary naive = summarise(pooled);
        pooled_held += naive.mean_low_95 <= 0 && 0 <= naive.mean_high_95;
    }
    CHECK(held > repetitions * 93 / 100);
    CHECK(held < repetitions * 97 / 100);
    CHECK(pooled_held < repetitions * 80 / 100);
}

TEST_CASE("signed ranks: exact probabilities", "[base][signed_rank]") {
    // scipy.stats.wilcoxon(x, method="exact") of 1.17
    const auto p = [](std::vector<double> values) { return signed_rank_p(values); };
    CHECK(p({1, 2, 3, 4, 5, 6}) == Approx(2.0 / 64));
    CHECK(p({-1, -2, -3, -4, -5, -6}) == Approx(2.0 / 64));
    CHECK(p({-1, 2, 3, 4, 5, 6}) == Approx(4.0 / 64));
    CHECK(p({1, 2, -3, 4, 5, 6}) == Approx(10.0 / 64));
    CHECK(p({5}) == 1);
    CHECK(p({1, -1}) == 1);
    CHECK(p({}) == 1);
    CHECK(p({0, 0, 0}) == 1);
    CHECK(p({0, 1, 2, 3, 0, 4, 5, 6}) == Approx(2.0 / 64));  // zeros say nothing
    // Three equal sizes share rank 2: sums at most 2 are {}, {2}, {2}, {2} of 8.
    CHECK(p({1, 1, 1}) == Approx(0.25));
    CHECK(p({-1, 1, 1}) == Approx(1));
}

TEST_CASE("signed ranks: many differences meet the exact ones", "[base][signed_rank]") {
    std::vector<double> values;
    for (int i = 1; i <= 200; ++i) values.push_back(i % 5 < 2 ? -i : i);
    const double exact = signed_rank_p(values);
    values.push_back(0.001);  // the least rank of 201
    CHECK(signed_rank_p(values) == Approx(exact).epsilon(0.05));
}

TEST_CASE("Holm: each p as it counts among all", "[base][signed_rank]") {
    // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") of R
    const std::vector<double> adjusted = holm_adjusted(std::vector{0.01, 0.04, 0.03, 0.005});
    CHECK(adjusted[0] == Approx(0.03));
    CHECK(adjusted[1] == Approx(0.06));
    CHECK(adjusted[2] == Approx(0.06));
    CHECK(adjusted[3] == Approx(0.02));
    CHECK(holm_adjusted(std::vector{0.7, 0.6})[0] == 1);
    CHECK(holm_adjusted({}).empty());
}

}  // namespace ukemi
