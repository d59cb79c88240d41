// Reasons that were made at run time: a Decision only looks at them.
#include <catch2/catch.hpp>
#include <string>

#include "policies/foreign_policy.hpp"

using namespace ukemi;
using policies::lasting_reason;

TEST_CASE("lasting reason: the same words stay, one copy of each") {
    std::string said = "the price fell to 0.31";
    const std::string_view kept = lasting_reason(said);
    CHECK(kept == "the price fell to 0.31");
    CHECK(lasting_reason(std::string("the price fell to 0.31")).data() == kept.data());
    said.assign(said.size(), 'x');
    CHECK(kept == "the price fell to 0.31");
}

TEST_CASE("lasting reason: a long one is cut between characters") {
    std::string said(policies::reason_bytes_max - 1, 'a');
    CHECK(lasting_reason(said + "b") == said + "b");
    CHECK(lasting_reason(said + "bc") == said + "b");
    CHECK(lasting_reason(said + "\xC3\xA9 and more") == said);  // e with an accent has two bytes
}

TEST_CASE("lasting reason: who never says the same twice is told so, and takes no more memory") {
    const std::string_view first = lasting_reason("first");
    for (std::size_t number = 0; number < policies::reasons_max; ++number) {
        lasting_reason(std::to_string(number));
    }
    CHECK(lasting_reason("one too many") == "(not kept: too many different reasons)");
    CHECK(lasting_reason("first").data() == first.data());
}
