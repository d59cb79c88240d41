// azure_retail_prices.cpp — answers of https://prices.azure.com/api/retail/prices, as `curl` and
// `az rest` print them (https://learn.microsoft.com/en-us/rest/api/cost-management/retail-prices/
// azure-retail-prices).
//
//     {"Items": [{"currencyCode": "USD", "retailPrice": 0.90, "armRegionName": "eastus",
//                 "effectiveStartDate": "2023-02-01T00:00:00Z", "skuName": "NC6s v3 Spot",
//                 "productName": …, "unitOfMeasure": "1 Hour", "type": "Consumption",
//                 "armSkuName": "Standard_NC6s_v3", …}, …], "NextPageLink": …}
//
// An answer holds the price of now, and since when; answers of several days are a history.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/json_scanner.hpp"
#include "base/text_scan.hpp"
#include "traces/forms/forms.hpp"
#include "traces/forms/quoted_prices.hpp"
#include "traces/limits.hpp"

namespace ukemi::traces {

namespace {

constexpr std::string_view azure_left_out =
    "Windows, low priority, reservations, development and what is not billed by the hour";

// Reads documents of one page of text.
class AzureReader {
public:
    AzureReader(JsonScanner& json, QuotedPrices& prices, std::uint32_t page, std::size_t before)
        : json_(json), prices_(prices), page_(page), before_(before) {}

    // A page, an item, or a list of either.
    void read_value() {
        each_object(json_, [this] { read_object(); });
    }

private:
    struct Item {
        QuotedName name;
        PlacedSample<Price> row;
        bool has_price = false;
        bool has_date = false;
        bool is_spot = false;
        bool is_left_out = false;
    };

    void read_object() {
        Item item;
        bool is_page = false;
        bool more = false;
        std::string_view key;
        json_.begin_object();
        item.row.offset = before_ + json_.offset();
        item.row.page = page_;
        const std::size_t begin = json_.offset();
        while (json_.next_key(key)) {
            if (key == "Items") {
                is_page = true;
                json_.begin_array();
                while (json_.next_element()) read_object();
            } else if (key == "retailPrice") {
                item.has_price = true;
                item.row.value =
                    Price::of(json_.decimal(9, 0, trace_price_max.raw(), expected_price));
            } else if (key == "tierMinimumUnits") {
                const std::int64_t units =
                    json_.decimal(0, 0, 1'000'000'000'000, "a number of units, not negative");
                item.is_left_out = item.is_left_out || units > 0;
            } else if (json_.peek() == JsonScanner::Kind::text) {
                const std::string name(key);
                read_text(name, json_.text(), item, more);
            } else {
                json_.skip_value();
            }
        }
        if (is_page) return prices_.page_ends(more);
        add(item, begin);
    }

    void read_text(std::string_view key, std::string_view text, Item& item, bool& more) {
        const auto has = [&](std::string_view word) {
            return text.find(word) != std::string_view::npos;
        };
        if (key == "armRegionName") {
            item.name.region = text;
        } else if (key == "armSkuName") {
            item.name.instance_type = text;
        } else if (key == "effectiveStartDate") {
            const auto stamp = parse_timestamp(text);
            if (!stamp) {
                json_.fail(fmt::format(
                    "expected a time such as 2023-02-01T00:00:00Z (years 1970 to 2199), found {}",
                    quoted(text)));
            }
            item.row.stamp_ns = *stamp;
            item.has_date = true;
        } else if (key == "currencyCode") {
            if (text != "USD") {
                json_.fail(fmt::format("expected {}, found {}", expected_currency, quoted(text)));
            }
        } else if (key == "skuName" || key == "meterName") {
            item.is_spot = item.is_spot || text.ends_with(" Spot");
            item.is_left_out = item.is_left_out || has("Low Priority");
        } else if (key == "productName") {
            item.is_left_out = item.is_left_out || has(" Win") || has("Cloud Services") ||
                               has("CloudServices") || has("Dedicated Host");
        } else if (key == "serviceName") {
            item.is_left_out = item.is_left_out || text != "Virtual Machines";
        } else if (key == "type") {
            item.is_left_out = item.is_left_out || text != "Consumption";
        } else if (key == "unitOfMeasure") {
            item.is_left_out = item.is_left_out || text != "1 Hour";
        } else if (key == "NextPageLink") {
            more = !text.empty();
        }
    }

    void add(const Item& item, std::size_t begin) {
        if (item.is_left_out) return prices_.leave_out();
        const std::string_view missing = !item.has_price                   ? "retailPrice"
                                         : item.name.region.empty()        ? "armRegionName"
                                         : !item.has_date                  ? "effectiveStartDate"
                                         : item.name.instance_type.empty() ? "armSkuName"
                                                                           : "";
        if (!missing.empty()) json_.fail_at(begin, fmt::format("expected the key \"{}\"", missing));
        prices_.add(item.name, item.is_spot, item.row);
    }

    JsonScanner& json_;
    QuotedPrices& prices_;
    std::uint32_t page_;
    std::size_t before_;
};

Trace read_azure_pages(std::span<const TracePage> pages, const ReadOptions&) {
    QuotedPrices prices(pages);
    for_each_document(pages, [&](JsonScanner& json, std::uint32_t page, std::size_t before) {
        AzureReader(json, prices, page, before).read_value();
    });
    return std::move(prices).finish({}, azure_left_out);
}

Trace read_azure_answer(std::string_view text, const std::filesystem::path& file,
                        const ReadOptions& options) {
    const TracePage page{text, file};
    return read_azure_pages({&page, 1}, options);
}

}  // namespace

TraceForm azure_retail_prices_form() {
    return {"azure_retail_prices_json",
            "answers of prices.azure.com, also by `az rest`: retailPrice, armSkuName, …",
            [](std::string_view head, const std::filesystem::path&) {
                return begins_json(head) && has_json_key(head, "retailPrice");
            },
            read_azure_answer, read_azure_pages};
}

}  // namespace ukemi::traces
