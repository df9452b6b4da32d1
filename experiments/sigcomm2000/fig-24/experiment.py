from queues import four_flows

figure = four_flows(24, "DropTail", limit=25)
