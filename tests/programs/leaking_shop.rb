# A program with four leaks, which writes its heap at three moments: PATH1, PATH2, PATH3.
require 'objspace'

ObjectSpace.trace_object_allocations_start

module Shop
  class Order
    def initialize(number)
      @number = number
      @lines = ["line #{number}", "other line #{number}"]
    end
  end

  class User
    def initialize(number)
      @name = "user #{number}"
    end
  end

  class Event
    def initialize(number)
      @text = "event #{number}"
    end
  end

  class Price
    def initialize(number)
      @label = "price #{number}"
    end
  end

  ORDERS = []

  class Session
    @cache = {}

    def self.find(number)
      @cache["session #{number}"] ||= User.new(number)
    end
  end

  class Bus
    @hooks = []

    def self.on(&block)
      @hooks << block
    end
  end

  class Prices
    def self.of(number)
      (@prices ||= {})["sku #{number}"] ||= Price.new(number)
    end
  end

  def self.subscribe(number)
    event = Event.new(number)
    Bus.on { event }
  end
end

number = 0
3.times do |moment|
  1000.times do
    number += 1
    Shop::ORDERS << Shop::Order.new(number)
    Shop::Session.find(number)
    Shop.subscribe(number)
    Shop::Prices.of(number)
  end
  GC.start
  File.open("#{ARGV[0]}#{moment + 1}.jsonl", 'w') do |file|
    ObjectSpace.dump_all(output: file)
  end
end
